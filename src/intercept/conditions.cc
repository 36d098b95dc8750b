// Waiting for condition variables of pthreads and of C11: an unlock of all levels of the mutex, and a lock of as many.
//
// By the standards a condition variable orders nothing by itself. A wait may return with no signal at all, so the program must look at
// what it waits for, and the mutex orders that look after the change. An edge from signal to wait would hide the races of programs that
// change it without the mutex. Detectors that take no order from locks have nothing but that edge to go by: they are told of signals
// (ThreadSanitizer 4.1), the others don't listen.
#include <pthread.h>
#include <threads.h>

#include <cerrno>

#include "intercept/hooks.h"
#include "intercept/real.h"

namespace redflag {
namespace {

struct Retaking {
  hooks::Pc pc;
  const void* mutex;
  int depth;  // 0: this thread did not hold it, and does not get it by waiting
};

void Retake(void* argument) {
  const auto& retaking = *static_cast<Retaking*>(argument);
  if (retaking.depth > 0) hooks::Locked(retaking.pc, retaking.mutex, LockMode::kExclusive, retaking.depth);
}

// A cancelled wait has the mutex back too, before the thread's cleanup handlers run: they may read what it protects and
// will unlock it. Without exceptions pthread_cleanup_push is made of a jump buffer that libc knows, and needs no tables
// for unwinding.
template <class Real, class Condition, class Mutex, class... Rest>
int Wait(hooks::Pc pc, const Real& real, Condition* condition, Mutex* mutex, Rest... rest) {
  if (!hooks::Active()) return real(condition, mutex, rest...);
  Retaking retaking{.pc = pc, .mutex = mutex, .depth = 0};
  retaking.depth = hooks::Unlocking(pc, mutex, LockMode::kExclusive, true);
  if (retaking.depth > 0) hooks::Wanting(pc, mutex, LockMode::kExclusive);  // while whatever else it holds stays held
  int error;
  pthread_cleanup_push(Retake, &retaking);
  error = real(condition, mutex, rest...);
  if (error == ENOTRECOVERABLE) retaking.depth = 0;  // the only error that leaves the mutex to nobody
  pthread_cleanup_pop(1);
  if (error == 0) hooks::Notified(pc, condition);
  return error;
}

template <class Real, class Condition>
int Notify(hooks::Pc pc, const Real& real, Condition* condition) {
  if (hooks::Active()) hooks::Notifying(pc, condition);
  return real(condition);
}

}  // namespace

REDFLAG_INTERCEPT(int, pthread_cond_wait, pthread_cond_t* condition, pthread_mutex_t* mutex) {
  return Wait(REDFLAG_CALLER, real::pthread_cond_wait, condition, mutex);
}

REDFLAG_INTERCEPT(int, pthread_cond_timedwait, pthread_cond_t* condition, pthread_mutex_t* mutex,
                  const timespec* until) {
  return Wait(REDFLAG_CALLER, real::pthread_cond_timedwait, condition, mutex, until);
}

REDFLAG_INTERCEPT(int, pthread_cond_clockwait, pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                  const timespec* until) {
  return Wait(REDFLAG_CALLER, real::pthread_cond_clockwait, condition, mutex, clock, until);
}

REDFLAG_INTERCEPT(int, pthread_cond_signal, pthread_cond_t* condition) {
  return Notify(REDFLAG_CALLER, real::pthread_cond_signal, condition);
}

REDFLAG_INTERCEPT(int, pthread_cond_broadcast, pthread_cond_t* condition) {
  return Notify(REDFLAG_CALLER, real::pthread_cond_broadcast, condition);
}

REDFLAG_INTERCEPT(int, pthread_cond_destroy, pthread_cond_t* condition) {
  if (hooks::Active()) hooks::Forget(REDFLAG_CALLER, condition);
  return real::pthread_cond_destroy(condition);
}

REDFLAG_INTERCEPT(int, cnd_signal, cnd_t* condition) { return Notify(REDFLAG_CALLER, real::cnd_signal, condition); }

REDFLAG_INTERCEPT(int, cnd_broadcast, cnd_t* condition) {
  return Notify(REDFLAG_CALLER, real::cnd_broadcast, condition);
}

REDFLAG_INTERCEPT(int, cnd_wait, cnd_t* condition, mtx_t* mutex) {
  return Wait(REDFLAG_CALLER, real::cnd_wait, condition, mutex);
}

REDFLAG_INTERCEPT(int, cnd_timedwait, cnd_t* condition, mtx_t* mutex, const timespec* until) {
  return Wait(REDFLAG_CALLER, real::cnd_timedwait, condition, mutex, until);
}

}  // namespace redflag
