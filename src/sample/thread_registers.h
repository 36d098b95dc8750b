// Registers of threads that are stopped from outside, by the machine: as ptrace gives them, and as a sample of the kernel (perf) has them.
#pragma once

#include <asm/perf_regs.h>
#include <elf.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/user.h>

#include <cerrno>
#include <cstdint>

#include "events/memory_access.h"

namespace redflag {

#if defined(__x86_64__)

using NativeRegisters = user_regs_struct;

inline uint64_t ProgramCounter(const NativeRegisters& from) { return from.rip; }
inline void SetProgramCounter(NativeRegisters& registers, uint64_t pc) { registers.rip = pc; }
inline uint64_t StackPointer(const NativeRegisters& from) { return from.rsp; }
inline void CopyRegisters(const NativeRegisters& from, uint64_t* to) {
  const uint64_t all[] = {from.rax, from.rcx, from.rdx, from.rbx, from.rsp, from.rbp, from.rsi, from.rdi,
                          from.r8,  from.r9,  from.r10, from.r11, from.r12, from.r13, from.r14, from.r15};
  for (int i = 0; i < 16; ++i) to[i] = all[i];
}

// System calls that the kernel does not begin again, and that leave nothing half done.
inline constexpr uint64_t kCallsBegunAgain[] = {232 /*epoll_wait*/,    281 /*epoll_pwait*/, 441 /*epoll_pwait2*/,
                                                65 /*semop*/,          220 /*semtimedop*/,  208 /*io_getevents*/,
                                                333 /*io_pgetevents*/, 45 /*recvfrom*/,     128 /*rt_sigtimedwait*/,
                                                47 /*recvmsg*/,        43 /*accept*/,       288 /*accept4*/};

// A system call that was interrupted by nobody but us is begun again, as the kernel does for most by itself. Does it if that is so: the
// registers are to be written then. With a handler of the program in between it still fails with EINTR.
inline bool BeginCallAgain(NativeRegisters& registers) {
  constexpr int64_t kRestartWithoutHandler = 514;  // ERESTARTNOHAND
  if (static_cast<int64_t>(registers.rax) != -EINTR) return false;
  for (const uint64_t call : kCallsBegunAgain) {
    if (registers.orig_rax != call) continue;
    registers.rax = static_cast<uint64_t>(-kRestartWithoutHandler);
    return true;
  }
  return false;
}

// Of a sample of the kernel: those of the mask, in the order of their numbers there.
inline constexpr uint64_t kSampleRegisters = ((uint64_t{1} << (PERF_REG_X86_IP + 1)) - 1) | uint64_t{0xff}
                                                                                                << PERF_REG_X86_R8;
inline constexpr uint32_t kSampleRegisterCount = PERF_REG_X86_IP + 1 + 8;
inline void CopySampleRegisters(const uint64_t* from, uint64_t* to, uint64_t& pc, uint64_t& sp) {
  constexpr int kOrder[] = {PERF_REG_X86_AX, PERF_REG_X86_CX, PERF_REG_X86_DX, PERF_REG_X86_BX,
                            PERF_REG_X86_SP, PERF_REG_X86_BP, PERF_REG_X86_SI, PERF_REG_X86_DI};
  for (int i = 0; i < 8; ++i) to[i] = from[kOrder[i]];
  for (int i = 8; i < 16; ++i) to[i] = from[PERF_REG_X86_IP + 1 + i - 8];
  pc = from[PERF_REG_X86_IP];
  sp = from[PERF_REG_X86_SP];
}

#elif defined(__aarch64__)

using NativeRegisters = user_regs_struct;

inline uint64_t ProgramCounter(const NativeRegisters& from) { return from.pc; }
inline void SetProgramCounter(NativeRegisters& registers, uint64_t pc) { registers.pc = pc; }
inline uint64_t StackPointer(const NativeRegisters& from) { return from.sp; }
inline void CopyRegisters(const NativeRegisters& from, uint64_t* to) {
  for (int i = 0; i < 31; ++i) to[i] = from.regs[i];
  to[kStackPointerArm] = from.sp;
}
// The kernel has decided before anybody outside can see it.
inline bool BeginCallAgain(NativeRegisters&) { return false; }

inline constexpr uint64_t kSampleRegisters = (uint64_t{1} << (PERF_REG_ARM64_PC + 1)) - 1;
inline constexpr uint32_t kSampleRegisterCount = PERF_REG_ARM64_PC + 1;
inline void CopySampleRegisters(const uint64_t* from, uint64_t* to, uint64_t& pc, uint64_t& sp) {
  for (int i = 0; i < 31; ++i) to[i] = from[i];
  to[kStackPointerArm] = sp = from[PERF_REG_ARM64_SP];
  pc = from[PERF_REG_ARM64_PC];
}

#endif

// The thread is stopped.
inline bool ReadRegisters(pid_t tid, NativeRegisters& registers) {
  iovec room{.iov_base = &registers, .iov_len = sizeof registers};
  return ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &room) == 0;
}
inline bool WriteRegisters(pid_t tid, NativeRegisters& registers) {
  iovec room{.iov_base = &registers, .iov_len = sizeof registers};
  return ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &room) == 0;
}

// The system call that it was in, if any, does not fail because of us.
inline void ContinueCall(pid_t tid) {
  NativeRegisters registers{};
  if (ReadRegisters(tid, registers) && BeginCallAgain(registers)) WriteRegisters(tid, registers);
}

}  // namespace redflag
