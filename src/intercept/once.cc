// Initialization that happens once: pthread_once (and so std::call_once), C11 call_once, and the guards of C++ static
// local variables. The initializing thread releases after its work and before libc marks it done; whoever finds it done
// acquires.
//
// A routine that ends by an exception comes before the next attempt: it releases while it is left, a guard by __cxa_guard_abort; and
// an attempt acquires what failed ones have released.
#include <pthread.h>
#include <threads.h>

#include "intercept/calls.h"
#include "intercept/hooks.h"
#include "intercept/real.h"

namespace redflag {
namespace {

// pthread_once gives its routine no argument, so the thread remembers what it is about to run.
struct Pending {
  hooks::Pc pc;
  const void* flag;
  void (*routine)();
};
[[gnu::tls_model("initial-exec")]] constinit thread_local Pending pending = {};

[[gnu::noinline]] void RunPending() {
  REDFLAG_LEFT_BY_EXCEPTIONS;
  const Pending mine = pending;  // the routine may itself come to another pthread_once
  hooks::Acquire(mine.pc, mine.flag);
  {
    const Call call(mine.pc, mine.flag);
    mine.routine();
  }
  hooks::Release(mine.pc, mine.flag);
}

}  // namespace

REDFLAG_INTERCEPT(int, pthread_once, pthread_once_t* flag, void (*routine)()) {
  if (!hooks::Active()) return real::pthread_once(flag, routine);
  pending = {.pc = REDFLAG_CALLER, .flag = flag, .routine = routine};
  const int error = real::pthread_once(flag, RunPending);
  if (error == 0) hooks::Acquire(REDFLAG_CALLER, flag);
  return error;
}

REDFLAG_INTERCEPT(void, call_once, once_flag* flag, void (*routine)()) {
  if (!hooks::Active()) return real::call_once(flag, routine);
  pending = {.pc = REDFLAG_CALLER, .flag = flag, .routine = routine};
  real::call_once(flag, RunPending);
  hooks::Acquire(REDFLAG_CALLER, flag);
}

// A program may want to know when it is about to wait there: ThreadSanitizer tells by these names of a namespace that is its own.
extern "C" {
[[gnu::weak]] void OnWaitBegins() asm("_ZN6__tsan32OnPotentiallyBlockingRegionBeginEv");
[[gnu::weak]] void OnWaitEnds() asm("_ZN6__tsan30OnPotentiallyBlockingRegionEndEv");
}

// ---- Static local variables, by the C++ ABI. The fast path, a look at the guard's first byte, is in the program ----

// 1: the caller initializes, perhaps after another thread's attempt failed; 0: somebody has done it.
REDFLAG_INTERCEPT(int, __cxa_guard_acquire, uint64_t* guard) {
  if (!hooks::Active()) return real::__cxa_guard_acquire(guard);
  if (OnWaitBegins != nullptr) OnWaitBegins();
  const int mine = real::__cxa_guard_acquire(guard);
  hooks::Acquire(REDFLAG_CALLER, guard);
  if (OnWaitEnds != nullptr) OnWaitEnds();
  return mine;
}

REDFLAG_INTERCEPT(void, __cxa_guard_release, uint64_t* guard) {
  if (hooks::Active()) hooks::Release(REDFLAG_CALLER, guard);
  real::__cxa_guard_release(guard);
}

REDFLAG_INTERCEPT(void, __cxa_guard_abort, uint64_t* guard) {
  if (hooks::Active()) hooks::Release(REDFLAG_CALLER, guard);
  real::__cxa_guard_abort(guard);
}

}  // namespace redflag
