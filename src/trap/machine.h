// What the handler of breakpoints has to know of the machine, in one place: the breakpoint itself, and where a thread's registers are in the context
// of a signal.
#pragma once

#include <ucontext.h>

#include <cstdint>

#include "events/sample_page.h"

namespace redflag::trap {

#if defined(__x86_64__)

inline constexpr uint32_t kBreakpointBytes = 1;
inline constexpr bool kProgramCounterIsNext = true;  // in addresses relative to it
inline constexpr bool kWatchStopsBefore = false;     // the access has been made when a data breakpoint is met

// Where the breakpoint is that was met.
inline uint64_t BreakpointOf(const ucontext_t& context) {
  return static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RIP]) - 1;
}
inline void GoOnAt(ucontext_t& context, uint64_t pc) { context.uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(pc); }
inline uint64_t ProgramCounter(const ucontext_t& context) {
  return static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RIP]);
}
inline uint64_t StackPointer(const ucontext_t& context) {
  return static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RSP]);
}
inline void CopyRegisters(const ucontext_t& context, uint64_t* to) {
  constexpr int kOrder[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                            REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  for (int i = 0; i < 16; ++i) to[i] = static_cast<uint64_t>(context.uc_mcontext.gregs[kOrder[i]]);
}
// Below the stack pointer, functions that call nobody may keep things.
inline constexpr uint64_t kRedZone = 128;

#elif defined(__aarch64__)

inline constexpr uint32_t kBreakpointBytes = 4;
inline constexpr bool kProgramCounterIsNext = false;
inline constexpr bool kWatchStopsBefore = true;

inline uint64_t BreakpointOf(const ucontext_t& context) { return context.uc_mcontext.pc; }
inline void GoOnAt(ucontext_t& context, uint64_t pc) { context.uc_mcontext.pc = pc; }
inline uint64_t ProgramCounter(const ucontext_t& context) { return context.uc_mcontext.pc; }
inline uint64_t StackPointer(const ucontext_t& context) { return context.uc_mcontext.sp; }
inline void CopyRegisters(const ucontext_t& context, uint64_t* to) {
  for (int i = 0; i < 31; ++i) to[i] = context.uc_mcontext.regs[i];
  to[kStackPointerArm] = context.uc_mcontext.sp;
}
inline constexpr uint64_t kRedZone = 0;

#endif

}  // namespace redflag::trap
