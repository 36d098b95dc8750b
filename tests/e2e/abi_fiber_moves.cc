// A fiber that moves from one thread to another keeps what it knows, and its stack.
#include <pthread.h>
#include <sanitizer/tsan_interface.h>
#include <ucontext.h>

#include "invisible.h"

void* fiber_handle;
thread_local void* own_handle;
ucontext_t own_context[2];
ucontext_t fiber_context;
alignas(64) char stack[1 << 18];
int turn;
int mine;
int racy;

// What is shared between fibers and their threads is not what this is about.
INVISIBLE static int Turn() { return turn; }
INVISIBLE static void SetTurn(int now) { turn = now; }
INVISIBLE static void* Own() { return own_handle; }
INVISIBLE static void SetOwn(void* handle) { own_handle = handle; }

NOINLINE void Return() {
  const int now = Turn();
  __tsan_switch_to_fiber(Own(), __tsan_switch_to_fiber_no_sync);
  swapcontext(&fiber_context, &own_context[now]);
}

NOINLINE void Work() {
  ++mine;
  Return();
  ++mine;
  racy = 2;  // RACE(racy) CHAIN(racy): Work < Fiber
  Return();
}

void Fiber() { Work(); }

NOINLINE void Resume() {
  SetOwn(__tsan_get_current_fiber());
  const int now = Turn();
  __tsan_switch_to_fiber(fiber_handle, __tsan_switch_to_fiber_no_sync);
  swapcontext(&own_context[now], &fiber_context);
}

void* Worker(void*) {
  Await(1);
  racy = 1;  // RACE(racy) CHAIN(racy): Worker
  SetTurn(1);
  Resume();
  return nullptr;
}

int main() {
  fiber_handle = __tsan_create_fiber(0);
  getcontext(&fiber_context);
  fiber_context.uc_stack.ss_sp = stack;
  fiber_context.uc_stack.ss_size = sizeof stack;
  makecontext(&fiber_context, Fiber, 0);
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Resume();
  Arrive();
  pthread_join(thread, nullptr);
}
