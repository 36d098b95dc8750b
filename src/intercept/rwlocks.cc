// Reader-writer locks of pthreads.
#include <pthread.h>

#include "intercept/hooks.h"
#include "intercept/real.h"

namespace redflag {
namespace {

using Rwlock = pthread_rwlock_t;
using Attributes = pthread_rwlockattr_t;

template <class Real>
int Lock(hooks::Pc pc, LockMode mode, const Real& real, Rwlock* lock) {
  if (!hooks::Wanting(pc, lock, mode)) return real(lock);
  const int error = real(lock);
  if (error == 0) hooks::Locked(pc, lock, mode);
  return error;
}

// Gives up, at once or some time later.
template <class Real, class... Rest>
int TryLock(hooks::Pc pc, LockMode mode, const Real& real, Rwlock* lock, Rest... rest) {
  if (!hooks::Active()) return real(lock, rest...);
  const int error = real(lock, rest...);
  if (error == 0) hooks::Locked(pc, lock, mode);
  return error;
}

// There is one pthread_rwlock_unlock for both modes. libc tells them apart by who is written down as the writer, and so
// do we: a writer that is there at all is this thread, or else this thread holds nothing.
LockMode ModeOfHolder(const Rwlock* lock) {
  return __atomic_load_n(&lock->__data.__cur_writer, __ATOMIC_RELAXED) != 0 ? LockMode::kExclusive : LockMode::kShared;
}

}  // namespace

REDFLAG_INTERCEPT(int, pthread_rwlock_init, Rwlock* lock, const Attributes* attributes) {
  if (!hooks::Active()) return real::pthread_rwlock_init(lock, attributes);
  const int error = real::pthread_rwlock_init(lock, attributes);
  if (error == 0) hooks::LockCreated(REDFLAG_CALLER, lock);
  return error;
}

REDFLAG_INTERCEPT(int, pthread_rwlock_destroy, Rwlock* lock) {
  if (!hooks::Active()) return real::pthread_rwlock_destroy(lock);
  const int error = real::pthread_rwlock_destroy(lock);
  if (error == 0) hooks::LockDestroyed(REDFLAG_CALLER, lock);
  return error;
}

REDFLAG_INTERCEPT(int, pthread_rwlock_rdlock, Rwlock* lock) {
  return Lock(REDFLAG_CALLER, LockMode::kShared, real::pthread_rwlock_rdlock, lock);
}

REDFLAG_INTERCEPT(int, pthread_rwlock_tryrdlock, Rwlock* lock) {
  return TryLock(REDFLAG_CALLER, LockMode::kShared, real::pthread_rwlock_tryrdlock, lock);
}

REDFLAG_INTERCEPT(int, pthread_rwlock_timedrdlock, Rwlock* lock, const timespec* until) {
  return TryLock(REDFLAG_CALLER, LockMode::kShared, real::pthread_rwlock_timedrdlock, lock, until);
}

REDFLAG_INTERCEPT(int, pthread_rwlock_clockrdlock, Rwlock* lock, clockid_t clock, const timespec* until) {
  return TryLock(REDFLAG_CALLER, LockMode::kShared, real::pthread_rwlock_clockrdlock, lock, clock, until);
}

REDFLAG_INTERCEPT(int, pthread_rwlock_wrlock, Rwlock* lock) {
  return Lock(REDFLAG_CALLER, LockMode::kExclusive, real::pthread_rwlock_wrlock, lock);
}

REDFLAG_INTERCEPT(int, pthread_rwlock_trywrlock, Rwlock* lock) {
  return TryLock(REDFLAG_CALLER, LockMode::kExclusive, real::pthread_rwlock_trywrlock, lock);
}

REDFLAG_INTERCEPT(int, pthread_rwlock_timedwrlock, Rwlock* lock, const timespec* until) {
  return TryLock(REDFLAG_CALLER, LockMode::kExclusive, real::pthread_rwlock_timedwrlock, lock, until);
}

REDFLAG_INTERCEPT(int, pthread_rwlock_clockwrlock, Rwlock* lock, clockid_t clock, const timespec* until) {
  return TryLock(REDFLAG_CALLER, LockMode::kExclusive, real::pthread_rwlock_clockwrlock, lock, clock, until);
}

REDFLAG_INTERCEPT(int, pthread_rwlock_unlock, Rwlock* lock) {
  if (hooks::Active()) hooks::Unlocking(REDFLAG_CALLER, lock, ModeOfHolder(lock));
  return real::pthread_rwlock_unlock(lock);
}

}  // namespace redflag
