// SignalMask: which signals the calling thread does not take, as the kernel has it. For the few steps in which no handler may come. Those of libc itself are never blocked: it
// knows what it does. No state, no locks.
#pragma once

#include <signal.h>
#include <sys/syscall.h>

#include <cstdint>

#include "base/arch.h"

namespace redflag {

struct SignalMask {
  uint64_t blocked;
  static constexpr uint64_t kAll = ~(uint64_t{3} << 31);
  // What it was before.
  static SignalMask Replace(SignalMask by) {
    SignalMask before{};
    arch::Syscall(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<int64_t>(&by), reinterpret_cast<int64_t>(&before),
                  sizeof by);
    return before;
  }
};

}  // namespace redflag
