// Semaphores, named and unnamed: a post is ordered before the waits that it may let through.
//
// sem_open, sem_close and sem_unlink are not interposed. All opens of a name in a process give one address, and other
// threads may go on using it after one close; what is remembered at an address that nobody uses any more does no harm.
#include <semaphore.h>

#include <ctime>

#include "intercept/hooks.h"
#include "intercept/real.h"

namespace redflag {
namespace {

template <class Real, class... Rest>
int Wait(hooks::Pc pc, const Real& real, sem_t* semaphore, Rest... rest) {
  if (!hooks::Active()) return real(semaphore, rest...);
  const int result = real(semaphore, rest...);
  if (result == 0) hooks::Acquire(pc, semaphore);
  return result;
}

}  // namespace

REDFLAG_INTERCEPT(int, sem_init, sem_t* semaphore, int shared, unsigned value) {
  if (!hooks::Active()) return real::sem_init(semaphore, shared, value);
  const int result = real::sem_init(semaphore, shared, value);
  if (result == 0) hooks::Forget(REDFLAG_CALLER, semaphore);
  return result;
}

REDFLAG_INTERCEPT(int, sem_destroy, sem_t* semaphore) {
  if (!hooks::Active()) return real::sem_destroy(semaphore);
  const int result = real::sem_destroy(semaphore);
  if (result == 0) hooks::Forget(REDFLAG_CALLER, semaphore);
  return result;
}

// Told even if the post then fails: the other order would come too late, and this thread's past may be known too widely
// but never wrongly.
REDFLAG_INTERCEPT(int, sem_post, sem_t* semaphore) {
  if (hooks::Active()) hooks::Release(REDFLAG_CALLER, semaphore);
  return real::sem_post(semaphore);
}

REDFLAG_INTERCEPT(int, sem_wait, sem_t* semaphore) { return Wait(REDFLAG_CALLER, real::sem_wait, semaphore); }

REDFLAG_INTERCEPT(int, sem_trywait, sem_t* semaphore) { return Wait(REDFLAG_CALLER, real::sem_trywait, semaphore); }

REDFLAG_INTERCEPT(int, sem_timedwait, sem_t* semaphore, const timespec* until) {
  return Wait(REDFLAG_CALLER, real::sem_timedwait, semaphore, until);
}

REDFLAG_INTERCEPT(int, sem_clockwait, sem_t* semaphore, clockid_t clock, const timespec* until) {
  return Wait(REDFLAG_CALLER, real::sem_clockwait, semaphore, clock, until);
}

}  // namespace redflag
