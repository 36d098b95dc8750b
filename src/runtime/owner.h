// Whose memory is it? Of addresses that are neither on the heap nor in a module's data, as far as the process knows: stacks of threads, and
// their thread-local variables.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "events/wire.h"

namespace redflag::rt {

class Runtime;

struct OwnedMemory {
  wire::Place place = wire::Place::kUnknown;  // kStack or kTls
  Tid thread{};
  uint64_t thread_pointer = 0;
  uint64_t begin = 0, end = 0;  // of the mapping that it is in
  bool is_live = false;         // the thread has not ended
};

// "no": it is nobody's. Reads what the system says of the process: for reports only.
bool FindOwner(Runtime& runtime, uint64_t addr, OwnedMemory& found);

}  // namespace redflag::rt
