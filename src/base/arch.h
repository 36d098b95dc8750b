// The one place that chooses an architecture. Raw system calls (so that in-process code neither goes through
// libc functions that the program may have replaced, nor touches its errno), the spin-wait hint, and what interceptors must
// know of stacks: where a jump buffer leads, what a signal interrupted, how to stand before a function that returns twice.
#pragma once

#if defined(__x86_64__)
#include "base/arch_x86_64.h"
#elif defined(__aarch64__)
#include "base/arch_aarch64.h"
#else
#error "Redflag supports x86-64 and arm64"
#endif

#include <sys/syscall.h>

namespace redflag::arch {

inline void Yield() { Syscall(SYS_sched_yield); }

}  // namespace redflag::arch
