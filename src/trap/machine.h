// Where a thread's registers are in the context of a signal.
#pragma once

#include <ucontext.h>

#include <cstdint>

#include "events/sample_machine.h"
#include "events/sample_page.h"

namespace redflag::trap {

#if defined(__x86_64__)

// Where the breakpoint is that was met.
inline uint64_t BreakpointOf(const ucontext_t& context) {
  return static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RIP]) - kBreakpointAdvance;
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

#elif defined(__aarch64__)

inline uint64_t BreakpointOf(const ucontext_t& context) { return context.uc_mcontext.pc; }
inline void GoOnAt(ucontext_t& context, uint64_t pc) { context.uc_mcontext.pc = pc; }
inline uint64_t ProgramCounter(const ucontext_t& context) { return context.uc_mcontext.pc; }
inline uint64_t StackPointer(const ucontext_t& context) { return context.uc_mcontext.sp; }
inline void CopyRegisters(const ucontext_t& context, uint64_t* to) {
  for (int i = 0; i < 31; ++i) to[i] = context.uc_mcontext.regs[i];
  to[kStackPointerArm] = context.uc_mcontext.sp;
}

#endif

}  // namespace redflag::trap
