// Mutexes of pthreads and of C11, of every kind: normal, recursive, error-checking, robust, priority-inheriting, shared
// between processes. The kind is no business of ours: what counts is whether the call took the mutex.
//
// pthread_mutex_consistent and the priority ceiling are not interposed: they order nothing.
#include <pthread.h>
#include <sys/syscall.h>
#include <threads.h>

#include <cerrno>

#include "base/arch.h"
#include "intercept/hooks.h"
#include "intercept/real.h"

namespace redflag {
namespace {

// A robust mutex whose owner died is taken all the same: the new owner is told, and is the owner.
bool Taken(int error) { return error == 0 || error == EOWNERDEAD; }

// What libc itself thinks of a mutex, C11's being one of pthreads inside. Locks may have been taken while nobody watched: only what is
// certainly wrong is told.
const pthread_mutex_t& Inside(const void* mutex) { return *static_cast<const pthread_mutex_t*>(mutex); }

bool IsDestroyed(const void* mutex) { return __atomic_load_n(&Inside(mutex).__data.__kind, __ATOMIC_RELAXED) == -1; }

bool IsNotHeld(const void* mutex) {
  // Neither robust ones nor those that inherit priorities, whose words mean other things; nor those that check by themselves, of which the
  // program may want to hear that.
  const auto& data = Inside(mutex).__data;
  const int kind = __atomic_load_n(&data.__kind, __ATOMIC_RELAXED) & 127;
  if (kind != PTHREAD_MUTEX_NORMAL && kind != PTHREAD_MUTEX_RECURSIVE && kind != PTHREAD_MUTEX_ADAPTIVE_NP)
    return false;
  if (__atomic_load_n(&data.__lock, __ATOMIC_RELAXED) == 0) return true;
  return __atomic_load_n(&data.__owner, __ATOMIC_RELAXED) != arch::Syscall(SYS_gettid);
}

template <class Real, class Mutex, class... Rest>
int LockIf(bool is_told, hooks::Pc pc, const Real& real, Mutex* mutex, Rest... rest) {
  if (!is_told) return real(mutex, rest...);
  const int error = real(mutex, rest...);
  if (Taken(error)) hooks::Locked(pc, mutex, LockMode::kExclusive);
  if (error == EINVAL && IsDestroyed(mutex)) hooks::LockMisused(pc, mutex, hooks::LockFlaw::kInvalidAccess);
  return error;
}

template <class Real, class Mutex>
int Lock(hooks::Pc pc, const Real& real, Mutex* mutex) {
  return LockIf(hooks::Wanting(pc, mutex, LockMode::kExclusive), pc, real, mutex);
}

// Gives up, at once or some time later.
template <class Real, class Mutex, class... Rest>
int TryLock(hooks::Pc pc, const Real& real, Mutex* mutex, Rest... rest) {
  return LockIf(hooks::Active(), pc, real, mutex, rest...);
}

template <class Real, class Mutex>
int Unlock(hooks::Pc pc, const Real& real, Mutex* mutex) {
  if (hooks::Active() && hooks::Unlocking(pc, mutex, LockMode::kExclusive) == 0 && IsNotHeld(mutex)) {
    hooks::LockMisused(pc, mutex, hooks::LockFlaw::kUnlockNotHeld);
  }
  return real(mutex);
}

template <class Real, class Mutex, class Options>
int Create(hooks::Pc pc, const Real& real, Mutex* mutex, Options options) {
  if (!hooks::Active()) return real(mutex, options);
  const int error = real(mutex, options);
  if (error == 0) hooks::LockCreated(pc, mutex);
  return error;
}

}  // namespace

// ---- pthreads ----

REDFLAG_INTERCEPT(int, pthread_mutex_init, pthread_mutex_t* mutex, const pthread_mutexattr_t* attributes) {
  return Create(REDFLAG_CALLER, real::pthread_mutex_init, mutex, attributes);
}

REDFLAG_INTERCEPT(int, pthread_mutex_destroy, pthread_mutex_t* mutex) {
  if (!hooks::Active()) return real::pthread_mutex_destroy(mutex);
  const int error = real::pthread_mutex_destroy(mutex);
  if (error == 0) hooks::LockDestroyed(REDFLAG_CALLER, mutex);
  if (error == EBUSY) hooks::LockMisused(REDFLAG_CALLER, mutex, hooks::LockFlaw::kDestroyHeld);
  return error;
}

REDFLAG_INTERCEPT(int, pthread_mutex_lock, pthread_mutex_t* mutex) {
  return Lock(REDFLAG_CALLER, real::pthread_mutex_lock, mutex);
}

REDFLAG_INTERCEPT(int, pthread_mutex_trylock, pthread_mutex_t* mutex) {
  return TryLock(REDFLAG_CALLER, real::pthread_mutex_trylock, mutex);
}

REDFLAG_INTERCEPT(int, pthread_mutex_timedlock, pthread_mutex_t* mutex, const timespec* until) {
  return TryLock(REDFLAG_CALLER, real::pthread_mutex_timedlock, mutex, until);
}

REDFLAG_INTERCEPT(int, pthread_mutex_clocklock, pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  return TryLock(REDFLAG_CALLER, real::pthread_mutex_clocklock, mutex, clock, until);
}

REDFLAG_INTERCEPT(int, pthread_mutex_unlock, pthread_mutex_t* mutex) {
  return Unlock(REDFLAG_CALLER, real::pthread_mutex_unlock, mutex);
}

// ---- C11: functions of their own in libc, which do not come through those above ----

REDFLAG_INTERCEPT(int, mtx_init, mtx_t* mutex, int kind) { return Create(REDFLAG_CALLER, real::mtx_init, mutex, kind); }

REDFLAG_INTERCEPT(void, mtx_destroy, mtx_t* mutex) {
  real::mtx_destroy(mutex);
  if (hooks::Active()) hooks::LockDestroyed(REDFLAG_CALLER, mutex);
}

REDFLAG_INTERCEPT(int, mtx_lock, mtx_t* mutex) { return Lock(REDFLAG_CALLER, real::mtx_lock, mutex); }

REDFLAG_INTERCEPT(int, mtx_trylock, mtx_t* mutex) { return TryLock(REDFLAG_CALLER, real::mtx_trylock, mutex); }

REDFLAG_INTERCEPT(int, mtx_timedlock, mtx_t* mutex, const timespec* until) {
  return TryLock(REDFLAG_CALLER, real::mtx_timedlock, mutex, until);
}

REDFLAG_INTERCEPT(int, mtx_unlock, mtx_t* mutex) { return Unlock(REDFLAG_CALLER, real::mtx_unlock, mutex); }

}  // namespace redflag
