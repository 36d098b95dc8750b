// What libredflag_tolerate tells the runtime of Redflag, if that is in the process: a race that was found where a tolerant section ended (docs/tolerate.md).
// Plain data across the boundary of two libraries: fields are only ever added at the end.
#pragma once

#include <cstdint>

namespace redflag {

struct ToleratedRace {
  uint64_t address;   // of the word
  uint32_t bytes;     // of it: 1, 2, 4 or 8
  uint32_t writes;    // 1: the section changed it too
  uint64_t local;     // the section's copy ...
  uint64_t global;    // ... and what the word held when the section ended
  uint64_t place;     // the return address in the program: where the section ends
  const char* words;  // what was found, in a sentence that names the section
};

}  // namespace redflag
