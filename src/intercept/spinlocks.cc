// Spin locks of pthreads.
#include <pthread.h>

#include "intercept/hooks.h"
#include "intercept/real.h"

namespace redflag {

using Spinlock = pthread_spinlock_t;

REDFLAG_INTERCEPT(int, pthread_spin_init, Spinlock* lock, int shared) {
  if (!hooks::Active()) return real::pthread_spin_init(lock, shared);
  const int error = real::pthread_spin_init(lock, shared);
  if (error == 0) hooks::LockCreated(REDFLAG_CALLER, const_cast<int*>(lock));
  return error;
}

REDFLAG_INTERCEPT(int, pthread_spin_destroy, Spinlock* lock) {
  if (!hooks::Active()) return real::pthread_spin_destroy(lock);
  const int error = real::pthread_spin_destroy(lock);
  if (error == 0) hooks::LockDestroyed(REDFLAG_CALLER, const_cast<int*>(lock));
  return error;
}

REDFLAG_INTERCEPT(int, pthread_spin_lock, Spinlock* lock) {
  if (!hooks::Wanting(REDFLAG_CALLER, const_cast<int*>(lock), LockMode::kExclusive))
    return real::pthread_spin_lock(lock);
  const int error = real::pthread_spin_lock(lock);
  if (error == 0) hooks::Locked(REDFLAG_CALLER, const_cast<int*>(lock), LockMode::kExclusive);
  return error;
}

REDFLAG_INTERCEPT(int, pthread_spin_trylock, Spinlock* lock) {
  if (!hooks::Active()) return real::pthread_spin_trylock(lock);
  const int error = real::pthread_spin_trylock(lock);
  if (error == 0) hooks::Locked(REDFLAG_CALLER, const_cast<int*>(lock), LockMode::kExclusive);
  return error;
}

REDFLAG_INTERCEPT(int, pthread_spin_unlock, Spinlock* lock) {
  if (hooks::Active()) hooks::Unlocking(REDFLAG_CALLER, const_cast<int*>(lock), LockMode::kExclusive);
  return real::pthread_spin_unlock(lock);
}

}  // namespace redflag
