// Locks, semaphores and threads of Qt 5. They are made of atomic operations and futexes inside the library. The names are those of its binary interface.
//
// QMutexLocker may take a mutex by code of the program's own, a template of atomic operations, which is seen as such; only the way out leads here then.
#include <cstdint>

#include "intercept/hooks.h"
#include "intercept/owned_threads.h"
#include "intercept/real.h"

namespace redflag {
namespace {

void Taken(hooks::Pc pc, void* lock, LockMode mode, bool taken = true) {
  if (taken && hooks::Active()) hooks::Locked(pc, lock, mode);
}

void GivingUp(hooks::Pc pc, void* lock) {
  if (!hooks::Active()) return;
  if (hooks::Unlocking(pc, lock, LockMode::kExclusive) != 0) return;
  if (hooks::Unlocking(pc, lock, LockMode::kShared) != 0) return;
  hooks::Release(pc, lock);
}

// A wait gives the lock up, and takes it again.
template <class Wait>
bool Waiting(hooks::Pc pc, void* condition, void* lock, Wait wait) {
  if (!hooks::Active()) return wait();
  LockMode mode = LockMode::kExclusive;
  int depth = hooks::Unlocking(pc, lock, mode, true);
  if (depth == 0) {
    mode = LockMode::kShared;
    depth = hooks::Unlocking(pc, lock, mode, true);
  }
  if (depth == 0) hooks::Release(pc, lock);
  const bool woken = wait();
  if (depth > 0) {
    hooks::Locked(pc, lock, mode, depth);
  } else {
    hooks::Acquire(pc, lock);
  }
  if (woken) hooks::Notified(pc, condition);
  return woken;
}

}  // namespace

// ---- QMutex ----

REDFLAG_INTERCEPT(void, _ZN6QMutex4lockEv, void* mutex) {
  real::_ZN6QMutex4lockEv(mutex);
  Taken(REDFLAG_CALLER, mutex, LockMode::kExclusive);
}
REDFLAG_INTERCEPT(bool, _ZN6QMutex7tryLockEi, void* mutex, int milliseconds) {
  const bool taken = real::_ZN6QMutex7tryLockEi(mutex, milliseconds);
  Taken(REDFLAG_CALLER, mutex, LockMode::kExclusive, taken);
  return taken;
}
REDFLAG_INTERCEPT(void, _ZN6QMutex6unlockEv, void* mutex) {
  GivingUp(REDFLAG_CALLER, mutex);
  real::_ZN6QMutex6unlockEv(mutex);
}

// ---- QReadWriteLock ----

REDFLAG_INTERCEPT(void, _ZN14QReadWriteLock11lockForReadEv, void* lock) {
  real::_ZN14QReadWriteLock11lockForReadEv(lock);
  Taken(REDFLAG_CALLER, lock, LockMode::kShared);
}
REDFLAG_INTERCEPT(void, _ZN14QReadWriteLock12lockForWriteEv, void* lock) {
  real::_ZN14QReadWriteLock12lockForWriteEv(lock);
  Taken(REDFLAG_CALLER, lock, LockMode::kExclusive);
}
REDFLAG_INTERCEPT(bool, _ZN14QReadWriteLock14tryLockForReadEv, void* lock) {
  const bool taken = real::_ZN14QReadWriteLock14tryLockForReadEv(lock);
  Taken(REDFLAG_CALLER, lock, LockMode::kShared, taken);
  return taken;
}
REDFLAG_INTERCEPT(bool, _ZN14QReadWriteLock14tryLockForReadEi, void* lock, int milliseconds) {
  const bool taken = real::_ZN14QReadWriteLock14tryLockForReadEi(lock, milliseconds);
  Taken(REDFLAG_CALLER, lock, LockMode::kShared, taken);
  return taken;
}
REDFLAG_INTERCEPT(bool, _ZN14QReadWriteLock15tryLockForWriteEv, void* lock) {
  const bool taken = real::_ZN14QReadWriteLock15tryLockForWriteEv(lock);
  Taken(REDFLAG_CALLER, lock, LockMode::kExclusive, taken);
  return taken;
}
REDFLAG_INTERCEPT(bool, _ZN14QReadWriteLock15tryLockForWriteEi, void* lock, int milliseconds) {
  const bool taken = real::_ZN14QReadWriteLock15tryLockForWriteEi(lock, milliseconds);
  Taken(REDFLAG_CALLER, lock, LockMode::kExclusive, taken);
  return taken;
}
REDFLAG_INTERCEPT(void, _ZN14QReadWriteLock6unlockEv, void* lock) {
  GivingUp(REDFLAG_CALLER, lock);
  real::_ZN14QReadWriteLock6unlockEv(lock);
}

// ---- QSemaphore ----

REDFLAG_INTERCEPT(void, _ZN10QSemaphore7acquireEi, void* semaphore, int count) {
  real::_ZN10QSemaphore7acquireEi(semaphore, count);
  if (hooks::Active()) hooks::Acquire(REDFLAG_CALLER, semaphore);
}
REDFLAG_INTERCEPT(bool, _ZN10QSemaphore10tryAcquireEi, void* semaphore, int count) {
  const bool taken = real::_ZN10QSemaphore10tryAcquireEi(semaphore, count);
  if (taken && hooks::Active()) hooks::Acquire(REDFLAG_CALLER, semaphore);
  return taken;
}
REDFLAG_INTERCEPT(bool, _ZN10QSemaphore10tryAcquireEii, void* semaphore, int count, int milliseconds) {
  const bool taken = real::_ZN10QSemaphore10tryAcquireEii(semaphore, count, milliseconds);
  if (taken && hooks::Active()) hooks::Acquire(REDFLAG_CALLER, semaphore);
  return taken;
}
REDFLAG_INTERCEPT(void, _ZN10QSemaphore7releaseEi, void* semaphore, int count) {
  if (hooks::Active()) hooks::Release(REDFLAG_CALLER, semaphore);
  real::_ZN10QSemaphore7releaseEi(semaphore, count);
}

// ---- QWaitCondition: a QDeadlineTimer is two words ----

REDFLAG_INTERCEPT(bool, _ZN14QWaitCondition4waitEP6QMutexm, void* condition, void* mutex, unsigned long time) {
  return Waiting(REDFLAG_CALLER, condition, mutex,
                 [&] { return real::_ZN14QWaitCondition4waitEP6QMutexm(condition, mutex, time); });
}
REDFLAG_INTERCEPT(bool, _ZN14QWaitCondition4waitEP6QMutex14QDeadlineTimer, void* condition, void* mutex, uint64_t first,
                  uint64_t second) {
  return Waiting(REDFLAG_CALLER, condition, mutex, [&] {
    return real::_ZN14QWaitCondition4waitEP6QMutex14QDeadlineTimer(condition, mutex, first, second);
  });
}
REDFLAG_INTERCEPT(bool, _ZN14QWaitCondition4waitEP14QReadWriteLockm, void* condition, void* lock, unsigned long time) {
  return Waiting(REDFLAG_CALLER, condition, lock,
                 [&] { return real::_ZN14QWaitCondition4waitEP14QReadWriteLockm(condition, lock, time); });
}
REDFLAG_INTERCEPT(bool, _ZN14QWaitCondition4waitEP14QReadWriteLock14QDeadlineTimer, void* condition, void* lock,
                  uint64_t first, uint64_t second) {
  return Waiting(REDFLAG_CALLER, condition, lock, [&] {
    return real::_ZN14QWaitCondition4waitEP14QReadWriteLock14QDeadlineTimer(condition, lock, first, second);
  });
}

// ---- QThread ----

REDFLAG_INTERCEPT(void, _ZN7QThread5startENS_8PriorityE, void* thread, int priority) {
  OwnedThreads::Starting(thread);
  real::_ZN7QThread5startENS_8PriorityE(thread, priority);
  OwnedThreads::Started();
}
REDFLAG_INTERCEPT(bool, _ZN7QThread4waitEm, void* thread, unsigned long time) {
  const bool ended = real::_ZN7QThread4waitEm(thread, time);
  if (ended) OwnedThreads::Await(REDFLAG_CALLER, thread);
  return ended;
}
REDFLAG_INTERCEPT(bool, _ZN7QThread4waitE14QDeadlineTimer, void* thread, uint64_t first, uint64_t second) {
  const bool ended = real::_ZN7QThread4waitE14QDeadlineTimer(thread, first, second);
  if (ended) OwnedThreads::Await(REDFLAG_CALLER, thread);
  return ended;
}

}  // namespace redflag
