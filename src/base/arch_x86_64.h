// Everything about x86-64 that base/ needs. Included by base/arch.h only.
#pragma once

#include <ucontext.h>

#include <cstdint>

namespace redflag::arch {

inline constexpr const char* kName = "x86-64";

inline void Pause() { __builtin_ia32_pause(); }

// What follows is not done before an atomic exchange that came first: the exchange itself sees to that.
inline void FenceAfterExchange() { asm volatile("" ::: "memory"); }

// Replaces two words, aligned to 16 bytes, if they are what is expected. Orders everything, as an exchange does.
inline bool CompareExchangePair(uint64_t* words, uint64_t old_first, uint64_t old_second, uint64_t new_first,
                                uint64_t new_second) {
  using Pair = uint64_t[2];
  bool done;
  asm volatile("lock cmpxchg16b %1"
               : "=@ccz"(done), "+m"(*reinterpret_cast<Pair*>(words)), "+a"(old_first), "+d"(old_second)
               : "b"(new_first), "c"(new_second)
               : "memory");
  return done;
}

inline int64_t Syscall(int64_t number, int64_t a = 0, int64_t b = 0, int64_t c = 0, int64_t d = 0, int64_t e = 0,
                       int64_t f = 0) {
  int64_t result;
  register int64_t r10 asm("r10") = d;
  register int64_t r8 asm("r8") = e;
  register int64_t r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

// The stack pointer that a jmp_buf of glibc restores. glibc keeps it mangled: xor the guard of the thread's control block,
// rotated to the left.
template <class SetJump>
uint64_t StackPointerIn(const void* jump_buffer, SetJump) {
  constexpr int kStackPointer = 6;
  uint64_t value = static_cast<const uint64_t*>(jump_buffer)[kStackPointer];
  asm("ror $17, %0\n\txor %%fs:0x30, %0" : "+r"(value) : : "cc");
  return value;
}

// Where the calling thread keeps its thread-local variables: those of the program are before it.
inline uint64_t ThreadPointer() {
  uint64_t pointer;
  asm("mov %%fs:0, %0" : "=r"(pointer));
  return pointer;
}

// Where a signal interrupted its thread.
inline uint64_t InterruptedAt(const void* context) {
  return static_cast<uint64_t>(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
}

}  // namespace redflag::arch

// Defines the exported function `name`, which calls `before` with its caller's stack pointer and goes on, arguments and stack as they
// were, at the address that `before` answers. For functions that return twice: no frame of ours may be in between.
#define REDFLAG_ARCH_STAND_BEFORE(name, before) \
  asm(".pushsection .text\n"                    \
      ".globl " #name                           \
      "\n"                                      \
      ".type " #name ", @function\n" #name      \
      ":\n"                                     \
      ".cfi_startproc\n"                        \
      "endbr64\n"                               \
      "push %rdi\n"                             \
      ".cfi_adjust_cfa_offset 8\n"              \
      "push %rsi\n"                             \
      ".cfi_adjust_cfa_offset 8\n"              \
      "sub $8, %rsp\n"                          \
      ".cfi_adjust_cfa_offset 8\n"              \
      "lea 32(%rsp), %rdi\n"                    \
      "call " #before                           \
      "\n"                                      \
      "add $8, %rsp\n"                          \
      ".cfi_adjust_cfa_offset -8\n"             \
      "pop %rsi\n"                              \
      ".cfi_adjust_cfa_offset -8\n"             \
      "pop %rdi\n"                              \
      ".cfi_adjust_cfa_offset -8\n"             \
      "jmp *%rax\n"                             \
      ".cfi_endproc\n"                          \
      ".size " #name ", . - " #name             \
      "\n"                                      \
      ".popsection")
