// setjmp and longjmp: the calls that a jump leaves must leave the runtime's stack of calls too.
//
// Calls of setjmp are noted: the caller's stack pointer, and how many calls were on the stack. A jump restores a stack pointer, which
// says which setjmp it leads to; so a copy of a jmp_buf leads to the same place, and two setjmps of one call are one. A note
// whose call has returned does no harm: nothing may jump there, until a later call has the same stack pointer and notes anew.
//
// Not interposed: what libc does inside (pthread_exit and cancellation leave frames that nobody looks at again).
#include "base/arch.h"
#include "intercept/calls.h"
#include "intercept/hooks.h"
#include "intercept/real.h"

namespace redflag {

REDFLAG_REAL(int, setjmp, void* buffer)
REDFLAG_REAL(int, _setjmp, void* buffer)
REDFLAG_REAL(int, __sigsetjmp, void* buffer, int save_mask)

namespace {

void Note(uintptr_t stack_pointer) {
  if (!hooks::Active()) return;
  Calls& calls = CurrentCalls();
  const Calls::Target target{
      .stack_pointer = stack_pointer, .depth = hooks::CallDepth(), .open_count = calls.open_count};
  for (uint32_t i = calls.target_count; i-- > 0;) {
    if (calls.targets[i].stack_pointer == stack_pointer) {
      calls.targets[i] = target;
      return;
    }
  }
  if (calls.target_count == Calls::kMostTargets) {
    // On one stack, those below are calls that have returned; if all are above, the oldest is the least likely.
    uint32_t kept = 0;
    for (const Calls::Target& old : calls.targets) {
      if (old.stack_pointer > stack_pointer) calls.targets[kept++] = old;
    }
    if (kept == Calls::kMostTargets) {
      for (uint32_t i = 1; i < kept; ++i) calls.targets[i - 1] = calls.targets[i];
      --kept;
    }
    calls.target_count = kept;
  }
  calls.targets[calls.target_count++] = target;
}

void LeaveCalls(const void* buffer) {
  hooks::JumpBegins();
  if (!hooks::Active()) return;
  Calls& calls = CurrentCalls();
  const uintptr_t stack_pointer = arch::StackPointerIn(buffer, real::_setjmp);
  for (uint32_t i = calls.target_count; i-- > 0;) {
    const Calls::Target& target = calls.targets[i];
    if (target.stack_pointer != stack_pointer) continue;
    hooks::LeaveCallsTo(target.depth);
    if (calls.open_count > target.open_count) calls.open_count = target.open_count;
    return;
  }
}

}  // namespace

extern "C" {
[[gnu::visibility("hidden"), gnu::used]] void* redflag_before_setjmp(uintptr_t stack_pointer) {
  Note(stack_pointer);
  return real::setjmp.address();
}
[[gnu::visibility("hidden"), gnu::used]] void* redflag_before__setjmp(uintptr_t stack_pointer) {
  Note(stack_pointer);
  return real::_setjmp.address();
}
[[gnu::visibility("hidden"), gnu::used]] void* redflag_before___sigsetjmp(uintptr_t stack_pointer) {
  Note(stack_pointer);
  return real::__sigsetjmp.address();
}
}

REDFLAG_ARCH_STAND_BEFORE(setjmp, redflag_before_setjmp);
REDFLAG_ARCH_STAND_BEFORE(_setjmp, redflag_before__setjmp);
REDFLAG_ARCH_STAND_BEFORE(__sigsetjmp, redflag_before___sigsetjmp);

#define REDFLAG_JUMP(name)                                  \
  REDFLAG_INTERCEPT(void, name, void* buffer, int result) { \
    LeaveCalls(buffer);                                     \
    real::name(buffer, result);                             \
  }
REDFLAG_JUMP(longjmp)
REDFLAG_JUMP(_longjmp)
REDFLAG_JUMP(siglongjmp)
REDFLAG_JUMP(__longjmp_chk)
#undef REDFLAG_JUMP

}  // namespace redflag
