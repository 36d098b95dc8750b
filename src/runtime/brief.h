// A race as text, for a process that has no helper to tell it to (emit.cc): modules and offsets, which `redflag symbolize` makes names of.
// Called by the thread that found the race, under the emitter's lock. No memory is allocated.
#pragma once

#include <cstdint>

#include "events/race_record.h"
#include "runtime/context_tree.h"

namespace redflag::rt {

void PrintBriefly(const ContextTree& tree, const RaceRecord& record, uint64_t addr);

}  // namespace redflag::rt
