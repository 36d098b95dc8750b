// The helper process, `redflag collect` (cli/collect.cc): reads the ring, and the recording if there is one. Found and started from inside
// the program.
#pragma once

#include <cstdint>

#include "events/ring.h"

namespace redflag::rt {

// Starts it as a grandchild in a session of its own: the program's wait() never sees it, nor do the program's signals reach it. It inherits the
// descriptor of the ring. `is_forked`: this process was forked from one that is watched. False: there is no such command, or no process.
bool StartHelper(int64_t ring_fd, RingHeader& ring, bool is_forked);

}  // namespace redflag::rt
