// Calls of functions that are not instrumented and call back into the program: qsort, pthread_once, operator new. The compiler tells
// of the calls between instrumented functions; the place that called such a function would be missing from the stacks of what it calls,
// so its interceptor tells of it:
//
//   REDFLAG_INTERCEPT(void, qsort, ...) {
//     REDFLAG_LEFT_BY_EXCEPTIONS;
//     const Call call(REDFLAG_CALLER);
//     real::qsort(...);
//   }
//
// There are three ways out: returning, an exception, a jump (jumps.cc). For the second, in-process code has no landing pads. But an
// unwinder asks the personality of every frame it passes: REDFLAG_LEFT_BY_EXCEPTIONS gives the interceptor's frame one which does
// what the destructor would have done.
//
// What is open belongs to the thread, or to the fiber (SwitchCalls): its own thread alone touches it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "intercept/hooks.h"

namespace redflag {

struct Calls {
  static constexpr uint32_t kMostOpen = 64;
  static constexpr uint32_t kMostTargets = 128;

  struct Open {
    hooks::Pc pc;
    const void* releases;  // what an exception that leaves the call releases, or null
    bool told;
  };
  // Where a jump may lead: a call of setjmp.
  struct Target {
    uintptr_t stack_pointer;
    uint64_t depth;
    uint32_t open_count;
  };

  uint32_t open_count = 0;  // may exceed kMostOpen: those are told, and release nothing
  uint32_t target_count = 0;
  Open open[kMostOpen] = {};
  Target targets[kMostTargets] = {};
};

// Of the running thread or fiber.
Calls& CurrentCalls();
// The thread goes on with other calls: it switches to a fiber, or back to its own (null).
void SwitchCalls(Calls* to);

class Call {
 public:
  explicit Call(hooks::Pc pc, const void* releases = nullptr);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
};

}  // namespace redflag

// In the body of a function that has a Call and is never inlined.
#define REDFLAG_LEFT_BY_EXCEPTIONS asm volatile(".cfi_personality 0x1b, redflag_left_by_exception")
