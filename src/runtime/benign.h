// Memory whose races the program has declared harmless (AnnotateBenignRaceSized). Looked at only when a race has been found. Thread-safe.
#pragma once

#include <cstdint>

#include "events/race_record.h"

namespace redflag::rt {

void AddBenign(uint64_t addr, uint64_t bytes);
// The memory begins another life, and what was said of it is past.
void ForgetBenign(uint64_t addr, uint64_t bytes);
// Are all racy bytes in declared memory?
bool IsBenign(const RaceRecord& record);

}  // namespace redflag::rt
