// Reads of memory that several threads read (planes.h): where they are remembered, and how they come back to the cells.
#include "runtime/runtime.h"

namespace redflag::rt {
namespace {

// Templates, because some detectors have no cells that could do without what they have read.
template <class D>
bool MayRace(const typename D::Thread& t, typename D::Cell& cell, PackedAccess mine) {
  if constexpr (kHasPlanes) {
    return cell.MayRace(D::ClockOf(t), mine);
  } else {
    return true;
  }
}
template <class D>
void Remember(D& detector, typename D::Cell& cell, PackedAccess read) {
  if constexpr (kHasPlanes) detector.TakeIn(cell, read);
}

}  // namespace

bool Runtime::RecordsInRegion(Thread& t, uint64_t granule, PackedAccess mine) {
  auto& cell = *static_cast<Detector::Cell*>(shadow_.CellAt(granule));
  const bool reads = kHasPlanes && mine.kind() == AccessKind::kRead;
  for (;;) {
    {
      const Regions::Stay stay(regions_, granule, reads);
      if (!reads || !stay.is_reading()) return TakesShortcut(t, cell, mine, stay.is_owner());
      if (uint64_t* word = regions_.PlaneWord(granule, t.state.tid)) return ReadsInPlane(t, granule, word, mine);
    }
    regions_.AttachPlane(granule, t.state.tid);
  }
}

bool Runtime::ReadsInPlane(Thread& t, uint64_t granule, uint64_t* word, PackedAccess mine) {
  const PackedAccess old(*word);
  auto& cell = *static_cast<Detector::Cell*>(shadow_.CellAt(granule));
  // Nobody has written since the old one.
  if (!Contains(old.bytes(), mine.bytes()) && MayRace<Detector>(t.state, cell, mine)) return false;
  PackedAccess fresh = mine;
  if (!Contains(mine.bytes(), old.bytes())) {
    if (old.SameMoment(mine)) {
      fresh = old.And(mine, [&](ContextId before, ContextId after, ByteMask bytes) {
        return t.Child(contexts_, before, ContextTree::Mixed(after, bytes));
      });
      if (fresh.word() == 0) return false;
    } else {
      Remember(detector_, cell, old.With(old.bytes() & ~mine.bytes()));
    }
  }
  __atomic_store_n(word, fresh.word(), __ATOMIC_RELAXED);
  return true;
}

void Runtime::TakeIn(uint64_t addr, uint64_t word) {
  Runtime& runtime = Get();
  Remember(runtime.detector_, *static_cast<Detector::Cell*>(runtime.shadow_.CellAt(addr)), PackedAccess(word));
}

}  // namespace redflag::rt
