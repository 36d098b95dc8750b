// BenignMemory: bytes whose races the program has declared harmless (ANNOTATE_BENIGN_RACE), until they begin another life.
//
// Used by Replay, one thread, host side.
#pragma once

#include <cstdint>

#include "events/access.h"
#include "events/event.h"
#include "offline/interval_list.h"

namespace redflag {

class BenignMemory {
 public:
  // An event kBenignRace.
  void Declare(const Event& event) {
    (event.flag == EventFlag::kAround ? around_ : bytes_).Add(event.addr, event.size, 0);
  }

  void Forget(Addr addr, uint64_t size) {
    bytes_.Remove(addr, size);
    around_.Remove(addr, size);
  }

  // Is the access one to an object of which a byte was declared, and no size?
  bool IsAround(Addr addr, uint64_t size) { return !around_.empty() && Touches(addr, size); }

  bool has_bytes() const { return !bytes_.empty(); }

  ByteMask Without(Addr granule, ByteMask bytes) {
    bytes_.ForEach(granule, kGranule, [&](Addr begin, Addr end, int&) {
      const Addr first = begin < granule ? granule : begin;
      bytes = bytes & ~MaskOf(first, end - first);
    });
    return bytes;
  }

  // Calls visit(addr, size) for each part of the range that was not declared.
  template <class Visit>
  void ForEachGap(Addr addr, uint64_t size, Visit visit) {
    bytes_.ForEachGap(addr, size, visit);
  }

 private:
  [[gnu::noinline]] bool Touches(Addr addr, uint64_t size) {
    bool touches = false;
    around_.ForEach(addr, size, [&](Addr, Addr, int&) { touches = true; });
    return touches;
  }

  IntervalList<int> bytes_;
  IntervalList<int> around_;
};

}  // namespace redflag
