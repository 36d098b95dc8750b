// Memory whose races the program has declared harmless (AnnotateBenignRaceSized) or announced (AnnotateExpectRace). Looked at only when
// a race has been found. Thread-safe.
#pragma once

#include <cstdint>

#include "events/race_record.h"

namespace redflag::rt {

void AddBenign(uint64_t addr, uint64_t bytes);
// Of memory whose size was not said: every race that has to do with this byte. `is_expected`: there must be one; texts live for ever.
struct Mention {
  uint64_t address;
  const char* why;
  const char* file;
  int line;
  bool is_expected;
};
void AddBenign(const Mention& mention);
// The memory begins another life, and what was said of it is past.
void ForgetBenign(uint64_t addr, uint64_t bytes);
// Is every racy byte in declared memory, or one of them mentioned?
bool IsBenign(const RaceRecord& record);
// Might any race be?
bool IsAnyBenign();

// Tells which of the expected races were not found, and expects nothing more.
void FlushExpectedRaces();
uint64_t MissedExpectations();
// After a fork, in the child: the parent sees to what it expected.
void ForgetExpectedRaces();

}  // namespace redflag::rt
