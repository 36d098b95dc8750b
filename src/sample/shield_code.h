// The code of a shield (sample/trap_shield.h) and what it needs, as they lie in the memory of the process. By the machine: there is none of it for arm64.
//
// The handler of SIGTRAP goes back to the breakpoint that was met, until somebody has taken that out; a SIGTRAP that is none of a breakpoint ends the
// process, as without us. The call changes the action of SIGTRAP in a thread that is sent there, and leads it back by itself to where it was: whoever
// sent it may be gone by then.
#pragma once

#include <signal.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "sample/thread_registers.h"

namespace redflag::shield {

#if defined(__x86_64__)

inline constexpr bool kIsThere = true;

// As the kernel wants it.
struct Action {
  uint64_t handler, flags, restorer, mask;
};
// What the system call or its arguments take the place of, and where to go on.
struct Saved {
  uint64_t rax, rdi, rsi, rdx, r10, rcx, r11, rip;
};

struct Image {
  char magic[16];
  Action up, down;
  Saved saved;
  uint8_t call[64];
  uint8_t handler[64];
};
inline constexpr char kMagic[16] = "redflag shield";

inline constexpr uint8_t kCallCode[] = {
    0x0f, 0x05,                                // syscall
    0x48, 0x8b, 0x05, 0x00, 0x00, 0x00, 0x00,  // mov rax, [rip + ...]; the flags stay as they are
    0x48, 0x8b, 0x3d, 0x00, 0x00, 0x00, 0x00,  // mov rdi
    0x48, 0x8b, 0x35, 0x00, 0x00, 0x00, 0x00,  // mov rsi
    0x48, 0x8b, 0x15, 0x00, 0x00, 0x00, 0x00,  // mov rdx
    0x4c, 0x8b, 0x15, 0x00, 0x00, 0x00, 0x00,  // mov r10
    0x48, 0x8b, 0x0d, 0x00, 0x00, 0x00, 0x00,  // mov rcx
    0x4c, 0x8b, 0x1d, 0x00, 0x00, 0x00, 0x00,  // mov r11
    0xff, 0x25, 0x00, 0x00, 0x00, 0x00,        // jmp [rip + ...]
};
inline constexpr size_t kAfterCall = 2;  // behind the system call
inline constexpr size_t kMoveBytes = 7;  // of each of the loads
inline constexpr size_t kJumpBytes = 6;

inline constexpr uint8_t kHandlerCode[] = {
    0x81, 0x7e, 0x08, 0x80, 0x00, 0x00, 0x00,  // cmp dword [rsi + 8], SI_KERNEL: of a breakpoint?
    0x75, 0x16,                                // jne other
    0x48, 0xff, 0x8a, 0xa8, 0x00, 0x00, 0x00,  // dec qword [rdx + 168]: the program counter
    0xb8, 0x18, 0x00, 0x00, 0x00,              // mov eax, sched_yield
    0x0f, 0x05,                                // syscall
    0xc3,                                      // ret
    0xb8, 0x0f, 0x00, 0x00, 0x00,              // restorer: mov eax, rt_sigreturn
    0x0f, 0x05,                                // syscall
    0xb8, 0x0d, 0x00, 0x00, 0x00,              // other: mov eax, rt_sigaction
    0xbf, 0x05, 0x00, 0x00, 0x00,              // mov edi, SIGTRAP
    0x48, 0x8d, 0x35, 0x00, 0x00, 0x00, 0x00,  // lea rsi, [rip + ...]: down
    0x31, 0xd2,                                // xor edx, edx
    0x41, 0xba, 0x08, 0x00, 0x00, 0x00,        // mov r10d, 8
    0x0f, 0x05,                                // syscall
    0xcc,                                      // int3
};
inline constexpr size_t kRestorer = 24, kOther = 31, kDownDistance = kOther + 13, kAfterDown = kOther + 17;
static_assert(sizeof kCallCode <= sizeof(Image::call) && sizeof kHandlerCode <= sizeof(Image::handler));
static_assert(kHandlerCode[kRestorer] == 0xb8 && kHandlerCode[kOther] == 0xb8 && kHandlerCode[8] == kOther - 9);

// A distance in the code, from behind the instruction that has it.
inline void PutDistance(uint8_t* at, size_t target, size_t from) {
  const auto distance = static_cast<int32_t>(static_cast<int64_t>(target) - static_cast<int64_t>(from));
  std::memcpy(at, &distance, sizeof distance);
}

// To lie at an address of the process.
inline Image ImageAt(uint64_t address) {
  constexpr uint64_t kRestorerFlag = 0x04000000;  // SA_RESTORER
  Image image{};
  std::memcpy(image.magic, kMagic, sizeof kMagic);
  const uint64_t handler = address + offsetof(Image, handler);
  image.up = {.handler = handler,
              .flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | kRestorerFlag,
              .restorer = handler + kRestorer,
              .mask = 0};
  std::memcpy(image.call, kCallCode, sizeof kCallCode);
  size_t at = kAfterCall;
  for (size_t slot = 0; slot + 1 < sizeof(Saved) / sizeof(uint64_t); ++slot, at += kMoveBytes) {
    const size_t next = at + kMoveBytes;
    PutDistance(image.call + next - 4, offsetof(Image, saved) + slot * sizeof(uint64_t), offsetof(Image, call) + next);
  }
  at += kJumpBytes;
  PutDistance(image.call + at - 4, offsetof(Image, saved.rip), offsetof(Image, call) + at);
  std::memcpy(image.handler, kHandlerCode, sizeof kHandlerCode);
  PutDistance(image.handler + kDownDistance, offsetof(Image, down), offsetof(Image, handler) + kAfterDown);
  return image;
}

inline Saved SavedOf(const NativeRegisters& from) {
  return {.rax = from.rax,
          .rdi = from.rdi,
          .rsi = from.rsi,
          .rdx = from.rdx,
          .r10 = from.r10,
          .rcx = from.rcx,
          .r11 = from.r11,
          .rip = from.rip};
}

// The registers of a thread that is to do the call.
inline NativeRegisters CallFrom(NativeRegisters registers, uint64_t address, bool up) {
  registers.rip = address + offsetof(Image, call);
  registers.rax = SYS_rt_sigaction;
  registers.rdi = SIGTRAP;
  registers.rsi = address + (up ? offsetof(Image, up) : offsetof(Image, down));
  registers.rdx = 0;
  registers.r10 = sizeof(uint64_t);
  registers.orig_rax = ~uint64_t{0};
  return registers;
}

// A thread that was stopped in a system call, which the kernel would begin again when it goes on: it is about to.
inline void FinishRestart(NativeRegisters& registers) {
  constexpr int64_t kWithSystem = 512, kAlways = 513, kWithoutHandler = 514, kByBlock = 516;  // ERESTART*
  constexpr uint64_t kCallBytes = 2, kRestartCall = 219;
  BeginCallAgain(registers);
  const auto result = -static_cast<int64_t>(registers.rax);
  if (static_cast<int64_t>(registers.orig_rax) >= 0) {
    if (result == kWithSystem || result == kAlways || result == kWithoutHandler) {
      registers.rax = registers.orig_rax;
      registers.rip -= kCallBytes;
    } else if (result == kByBlock) {
      registers.rax = kRestartCall;
      registers.rip -= kCallBytes;
    }
  }
  registers.orig_rax = ~uint64_t{0};
}

// System calls in which threads sleep, and which the kernel begins again as if nothing had been, with what is left of their time.
inline constexpr uint64_t kEasyCalls[] = {202 /*futex*/, 35 /*nanosleep*/, 230 /*clock_nanosleep*/,
                                          7 /*poll*/,    61 /*wait4*/,     34 /*pause*/,
                                          43 /*accept*/, 288 /*accept4*/,  219 /*restart*/};

#else

inline constexpr bool kIsThere = false;

#endif

}  // namespace redflag::shield
