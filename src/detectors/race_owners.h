// RaceOwners: who owned what a race was with, as far as a report tells: LS of an access (Goldilocks), without the thread that is in the race with it.
#pragma once

#include <cstdint>

#include "clocks/sync_event_list.h"

namespace redflag {

struct RaceOwners {
  static constexpr uint32_t kMost = 8;  // enough for a sentence
  Element elements[kMost];
  uint32_t count = 0, more = 0;

  void Clear() { count = more = 0; }
  void Add(Element element) {
    if (count == kMost) {
      ++more;
    } else {
      elements[count++] = element;
    }
  }
};

}  // namespace redflag
