// RaceOwners: who owned what a race was with, as far as a report tells: LS of an access (Goldilocks), of which the thread that races with it
// is no part. Of one thread, which reports the race.
#pragma once

#include <cstdint>

#include "clocks/sync_event_list.h"

namespace redflag {

struct RaceOwners {
  static constexpr uint32_t kMost = 8;  // enough for a sentence
  Element elements[kMost];
  Element givers[kMost];  // from whom each came; kNoElement: not known, or nobody
  uint32_t count = 0, more = 0;

  void Clear() { count = more = 0; }
  void Add(Element element) { AddAt(count, element, kNoElement); }
  // As number i; the last one may have to go.
  void AddAt(uint32_t i, Element element, Element giver) {
    if (count == kMost) ++more;
    if (i == kMost) return;
    for (uint32_t last = count < kMost ? count++ : kMost - 1; last > i; --last) {
      elements[last] = elements[last - 1];
      givers[last] = givers[last - 1];
    }
    elements[i] = element;
    givers[i] = giver;
  }
};

}  // namespace redflag
