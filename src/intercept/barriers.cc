// Barriers of pthreads.
#include <pthread.h>

#include "intercept/hooks.h"
#include "intercept/real.h"

namespace redflag {
namespace {

using Barrier = pthread_barrier_t;

// How many threads a barrier waits for is its third word, ever since glibc 2.23 (in, round, count, ...). Asking it
// spares a table of all barriers; the tests hold this against pthread_barrier_init.
unsigned Parties(const Barrier* barrier) { return reinterpret_cast<const unsigned*>(barrier)[2]; }

}  // namespace

REDFLAG_INTERCEPT(int, pthread_barrier_init, Barrier* barrier, const pthread_barrierattr_t* attributes,
                  unsigned parties) {
  if (!hooks::Active()) return real::pthread_barrier_init(barrier, attributes, parties);
  const int error = real::pthread_barrier_init(barrier, attributes, parties);
  if (error == 0) hooks::BarrierForgotten(REDFLAG_CALLER, barrier);
  return error;
}

REDFLAG_INTERCEPT(int, pthread_barrier_destroy, Barrier* barrier) {
  if (!hooks::Active()) return real::pthread_barrier_destroy(barrier);
  const int error = real::pthread_barrier_destroy(barrier);
  if (error == 0) hooks::BarrierForgotten(REDFLAG_CALLER, barrier);
  return error;
}

// A thread that is slow to leave may find the barrier destroyed, or in use for another phase: what it leaves is the
// phase that it arrived for, and the barrier itself is not looked at again.
REDFLAG_INTERCEPT(int, pthread_barrier_wait, Barrier* barrier) {
  if (!hooks::Active()) return real::pthread_barrier_wait(barrier);
  const uint64_t phase = hooks::BarrierArrive(REDFLAG_CALLER, barrier, Parties(barrier));
  const int result = real::pthread_barrier_wait(barrier);
  if (result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD) hooks::BarrierLeave(REDFLAG_CALLER, barrier, phase);
  return result;
}

}  // namespace redflag
