// Everything about x86-64 that base/ needs. Included by base/arch.h only.
#pragma once

#include <cstdint>

namespace redflag::arch {

inline constexpr const char* kName = "x86-64";

inline void Pause() { __builtin_ia32_pause(); }

// What follows is not done before an atomic exchange that came first: the exchange itself sees to that.
inline void FenceAfterExchange() { asm volatile("" ::: "memory"); }

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

}  // namespace redflag::arch
