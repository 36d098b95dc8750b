// Reads of memory that several threads read (planes.h): where they are remembered, and how they come back to the cells.
#include "runtime/runtime.h"

namespace redflag::rt {
namespace {

// For Planes::Attach: is the plane of a thread that has ended `t`'s to take over?
template <class D, class Take>
bool Inherits(D& detector, const Thread& t, Slot of, const uint64_t* words, Take take) {
  if constexpr (kGoesByOrder) {
    return detector.slots().IfEnded(of, [&] {
      for (uint32_t i = 0; i < Planes::kWords; ++i) {
        if (words[i] != 0 && !Knows(D::ClockOf(t.state), PackedAccess(words[i]))) return false;
      }
      take();
      return true;
    });
  } else {
    return false;
  }
}

}  // namespace

bool Runtime::RecordsInRegion(Thread& t, uint64_t granule, PackedAccess mine) {
  auto& cell = *static_cast<Detector::Cell*>(shadow_.CellAt(granule));
  const bool reads = kHasPlanes && mine.kind() == AccessKind::kRead;
  for (;;) {
    {
      const Regions::Stay stay(regions_, granule, reads);
      if (!reads || !stay.is_reading()) return TakesShortcut(t, cell, mine, stay.is_owner());
      if (uint64_t* word = regions_.PlaneWord(granule, mine.slot())) return ReadsInPlane(t, granule, word, mine);
    }
    regions_.AttachPlane(granule, mine.slot(), [&](Slot of, const uint64_t* words, auto take) {
      return Inherits(detector_, t, of, words, take);
    });
  }
}

bool Runtime::ReadsInPlane(Thread& t, uint64_t granule, uint64_t* word, PackedAccess mine) {
  auto& cell = *static_cast<Detector::Cell*>(shadow_.CellAt(granule));
  return detector_.ReadsApart(Detector::ClockOf(t.state), cell, word, mine,
                              [&](ContextId old, ContextId fresh, ByteMask fresh_bytes) {
                                return t.Child(contexts_, old, ContextTree::Mixed(fresh, fresh_bytes));
                              });
}

void Runtime::LeavePlane(const Thread& t, uint64_t granule) {
  uint64_t* word = regions_.PlaneWord(granule, PackedAccess(t.now).slot());
  if (word == nullptr || *word == 0) return;
  TakeIn(granule, *word);
  __atomic_store_n(word, 0, __ATOMIC_RELAXED);
}

void Runtime::TakeIn(uint64_t addr, uint64_t word) {
  Runtime& runtime = Get();
  runtime.detector_.TakeIn(*static_cast<Detector::Cell*>(runtime.shadow_.CellAt(addr)), PackedAccess(word));
}

}  // namespace redflag::rt
