// Comes before everything else of the code under test: whoever sleeps lets others go on, and nobody has to be woken.
#pragma once

#include <sys/syscall.h>

#include "base/arch.h"
#include "explorer.h"

namespace redflag::arch {

inline int64_t ScheduledSyscall(int64_t number, int64_t a = 0, int64_t b = 0, int64_t c = 0, int64_t d = 0,
                                int64_t e = 0, int64_t f = 0) {
  if (number == SYS_nanosleep) interleave::Yield();
  if (number == SYS_nanosleep || number == SYS_futex) return 0;
  return Syscall(number, a, b, c, d, e, f);
}

}  // namespace redflag::arch

#define Syscall ScheduledSyscall
