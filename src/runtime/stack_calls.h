// Whose frame is it? What lies on a stack next to an address: where calls return to that are on that stack, and words that look as if. The reader
// of reports has debug information and works out the rest (collect/dwarf_frames.h); here there is no telling how large a frame is.
//
// For reports only. The thread whose stack that is may run, and end, meanwhile: nothing of it is read but through the kernel.
#pragma once

#include <cstdint>

#include "events/wire.h"
#include "runtime/owner.h"

namespace redflag::rt {

struct StackCalls {
  uint64_t slots[wire::kMaxSlots] = {};  // the nearest below the address, and the nearest above: copies too
  uint32_t slot_count = 0;
  wire::Return returns[wire::kMaxReturns] = {};  // the nearest first
  uint32_t return_count = 0;
};

// Next to `addr`, on the stack of a thread that has not ended. False: nothing was found. One thread at a time.
bool FindCalls(const OwnedMemory& stack, uint64_t addr, StackCalls& found);

}  // namespace redflag::rt
