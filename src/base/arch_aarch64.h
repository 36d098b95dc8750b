// Everything about arm64 that base/ needs. Included by base/arch.h only.
#pragma once

#include <ucontext.h>

#include <cstdint>

namespace redflag::arch {

inline constexpr const char* kName = "arm64";

inline void Pause() { asm volatile("isb" ::: "memory"); }

// What follows is not done before an atomic exchange that came first.
inline void FenceAfterExchange() { asm volatile("dmb ish" ::: "memory"); }

// Replaces two words, aligned to 16 bytes, if they are what is expected; may fail for no reason. Orders everything, as an exchange
// with a fence behind it does.
inline bool CompareExchangePair(uint64_t* words, uint64_t old_first, uint64_t old_second, uint64_t new_first,
                                uint64_t new_second) {
  uint64_t first;
  uint64_t second;
  uint32_t failed = 1;
  asm volatile(
      "ldaxp %[first], %[second], [%[words]]\n\t"
      "cmp %[first], %[old_first]\n\t"
      "ccmp %[second], %[old_second], #0, eq\n\t"
      "b.ne 1f\n\t"
      "stlxp %w[failed], %[new_first], %[new_second], [%[words]]\n\t"
      "dmb ish\n"
      "1:"
      : [first] "=&r"(first), [second] "=&r"(second), [failed] "+&r"(failed)
      : [words] "r"(words), [old_first] "r"(old_first), [old_second] "r"(old_second), [new_first] "r"(new_first),
        [new_second] "r"(new_second)
      : "cc", "memory");
  return failed == 0;
}

inline int64_t Syscall(int64_t number, int64_t a = 0, int64_t b = 0, int64_t c = 0, int64_t d = 0, int64_t e = 0,
                       int64_t f = 0) {
  register int64_t x8 asm("x8") = number;
  register int64_t x0 asm("x0") = a;
  register int64_t x1 asm("x1") = b;
  register int64_t x2 asm("x2") = c;
  register int64_t x3 asm("x3") = d;
  register int64_t x4 asm("x4") = e;
  register int64_t x5 asm("x5") = f;
  asm volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
}

// The stack pointer that a jmp_buf of glibc restores. glibc keeps it mangled, xor a key that it keeps to itself: a buffer filled here,
// where the stack pointer is known, gives it away.
template <class SetJump>
uint64_t StackPointerIn(const void* jump_buffer, SetJump set_jump) {
  constexpr int kStackPointer = 13;
  uint64_t here[64];
  set_jump(here);
  uint64_t now;
  asm volatile("mov %0, sp" : "=r"(now));
  return static_cast<const uint64_t*>(jump_buffer)[kStackPointer] ^ here[kStackPointer] ^ now;
}

// Where the calling thread keeps its thread-local variables: those of the program are behind it.
inline uint64_t ThreadPointer() {
  uint64_t pointer;
  asm("mrs %0, tpidr_el0" : "=r"(pointer));
  return pointer;
}

// Where a signal interrupted its thread.
inline uint64_t InterruptedAt(const void* context) { return static_cast<const ucontext_t*>(context)->uc_mcontext.pc; }

}  // namespace redflag::arch

// Defines the exported function `name`, which calls `before` with its caller's stack pointer and goes on, arguments and stack as they
// were, at the address that `before` answers. For functions that return twice: no frame of ours may be in between.
#define REDFLAG_ARCH_STAND_BEFORE(name, before) \
  asm(".pushsection .text\n"                    \
      ".globl " #name                           \
      "\n"                                      \
      ".type " #name ", %function\n" #name      \
      ":\n"                                     \
      ".cfi_startproc\n"                        \
      "hint #34\n"                              \
      "stp x29, x30, [sp, #-32]!\n"             \
      ".cfi_def_cfa_offset 32\n"                \
      ".cfi_offset 29, -32\n"                   \
      ".cfi_offset 30, -24\n"                   \
      "stp x0, x1, [sp, #16]\n"                 \
      "add x0, sp, #32\n"                       \
      "bl " #before                             \
      "\n"                                      \
      "mov x16, x0\n"                           \
      "ldp x0, x1, [sp, #16]\n"                 \
      "ldp x29, x30, [sp], #32\n"               \
      ".cfi_def_cfa_offset 0\n"                 \
      ".cfi_restore 29\n"                       \
      ".cfi_restore 30\n"                       \
      "br x16\n"                                \
      ".cfi_endproc\n"                          \
      ".size " #name ", . - " #name             \
      "\n"                                      \
      ".popsection")
