// Two fibers of one thread, which switches between them with and without order.
#include <sanitizer/tsan_interface.h>
#include <ucontext.h>

#include "invisible.h"

void* fiber_handle;
void* main_handle;
ucontext_t main_context;
ucontext_t fiber_context;
alignas(64) char stack[1 << 18];
int ordered;
int unordered;

NOINLINE void SwitchTo(void* handle, ucontext_t* from, ucontext_t* to, unsigned flags) {
  __tsan_switch_to_fiber(handle, flags);
  swapcontext(from, to);
}

NOINLINE void Touch() {
  ++ordered;      // RACE(ordered) CHAIN(ordered): Touch < Fiber
  unordered = 2;  // RACE(unordered) CHAIN(unordered): Touch < Fiber
}

void Fiber() {
  for (;;) {
    Touch();
    SwitchTo(main_handle, &fiber_context, &main_context, 0);
  }
}

NOINLINE void Resume(unsigned flags) { SwitchTo(fiber_handle, &main_context, &fiber_context, flags); }

int main() {
  main_handle = __tsan_get_current_fiber();
  fiber_handle = __tsan_create_fiber(0);
  __tsan_set_fiber_name(fiber_handle, "fiber");
  getcontext(&fiber_context);
  fiber_context.uc_stack.ss_sp = stack;
  fiber_context.uc_stack.ss_size = sizeof stack;
  makecontext(&fiber_context, Fiber, 0);
  for (int i = 0; i < 100; ++i) {
    ++ordered;
    Resume(0);
    ++ordered;  // RACE(ordered) CHAIN(ordered): main
  }
  unordered = 1;  // RACE(unordered) CHAIN(unordered): main
  Resume(__tsan_switch_to_fiber_no_sync);
  __tsan_destroy_fiber(fiber_handle);
}
