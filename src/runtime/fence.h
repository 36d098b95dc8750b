// A memory barrier in every thread of the process that runs now, for protocols in which one side comes rarely: the other side then needs
// none of its own (gate.h, regions.h).
#pragma once

#include <linux/membarrier.h>
#include <sys/syscall.h>

#include "base/arch.h"

namespace redflag::rt {

// Once in a process before the first fence. False: the system has no such thing.
inline bool PrepareFences() { return arch::Syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0; }
inline void FenceEverybody() { arch::Syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED); }

}  // namespace redflag::rt
