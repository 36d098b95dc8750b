// Everything about arm64 that base/ needs. Included by base/arch.h only.
#pragma once

#include <cstdint>

namespace redflag::arch {

inline constexpr const char* kName = "arm64";

inline void Pause() { asm volatile("isb" ::: "memory"); }

// What follows is not done before an atomic exchange that came first.
inline void FenceAfterExchange() { asm volatile("dmb ish" ::: "memory"); }

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

}  // namespace redflag::arch
