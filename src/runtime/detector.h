// Which detector this runtime is made with: one whose cells fit into the shadow, or another one in boxes. The build compiles the runtime
// once for each line of detectors/list.def.
#pragma once

#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "base/mem.h"
#include "events/access.h"

#ifndef REDFLAG_DETECTOR_CLASS
#define REDFLAG_DETECTOR_CLASS Hb
#define REDFLAG_DETECTOR_HEADER "detectors/hb.h"
#endif
#include REDFLAG_DETECTOR_HEADER

#include "clocks/opened_packed_cell.h"
#include "runtime/boxed.h"

namespace redflag::rt {

#ifdef REDFLAG_BOXED
inline constexpr bool kIsBoxed = true;
using Detector = Boxed<REDFLAG_DETECTOR_CLASS<AtomicMem>>;
#else
inline constexpr bool kIsBoxed = false;
using Detector = REDFLAG_DETECTOR_CLASS<AtomicMem, PackedCell>;
#endif

// Does it ask which locks a thread holds? Otherwise they need no names.
template <class D>
inline constexpr bool kNeedsLocks = !requires { D::kNeedsNoLocks; };
inline constexpr bool kAsksForLocks = kNeedsLocks<Detector>;

// Is it sure enough of the races that it finds, and careful enough, that an access may be refused (runtime/refusal.h)?
template <class D>
inline constexpr bool kIsSure = requires { requires D::kCanRefuse; };
inline constexpr bool kRefuses = kIsSure<Detector>;

// Does it leave it to the engine to ignore lines of memory until they are shared (runtime/memory_line.h)?
template <class D>
inline constexpr bool kIsForSharedLines = requires { requires D::kEngineKnowsLines; };
inline constexpr bool kIgnoresLines = kIsForSharedLines<Detector>;

// Can what a thread reads be kept apart from the cells (runtime/planes.h)? If its latest read of some bytes stands for all that it has read of
// them before.
inline constexpr bool kHasPlanes = !kIsBoxed;

// Does nothing matter to it but the order of accesses? Then what a thread has compared once need not be compared again. Times of the others, but for those in boxes, go up and down
// (clocks/segment_times.h).
#ifdef REDFLAG_BOXED
inline constexpr bool kGoesByOrder = false;
#else
inline constexpr bool kGoesByOrder =
    !kIgnoresLines && kIsOrderAll<std::remove_cvref_t<decltype(Detector::ClockOf(std::declval<Detector::Thread&>()))>>;
#endif
inline constexpr bool kTimesRise = kGoesByOrder || kIsBoxed;

// What some detectors can be asked for, before anything happens; "no": this one has no such thing.
template <class D>
bool OrderByReads(D& detector) {
  if constexpr (requires { detector.OrderByReads(); }) {
    detector.OrderByReads();
    return true;
  }
  return false;
}

// Nothing is known of what it carried.
inline void Clear(Detector& detector, Detector::Sync& sync) {
  sync.~Sync();
  ::new (static_cast<void*>(&sync)) Detector::Sync(detector);
}

#ifdef REDFLAG_BOXED
using DetectorLife = Life<REDFLAG_DETECTOR_CLASS<AtomicMem>>;
inline void FindObjectsBy(Detector& detector, FindObject find) { detector.FindObjectsBy(find); }
#else
// The beginning of the life of some bytes, told to one cell after the other.
class DetectorLife {
 public:
  DetectorLife(Detector& detector, Detector::Thread& t, uint64_t addr, uint64_t size, AccessOrigin origin,
               ContextId context)
      : detector_(detector),
        stamp_(detector.OnLifetime(t, Addr{addr}, size, origin, context)),
        first_write_(kIgnoresLines ? PackedAccess() : PackedAccess(stamp_)) {}

  [[gnu::always_inline]] void Begin(Detector::Cell& cell, uint64_t, ByteMask bytes, bool is_alone) {
    if (!cell.RestartsQuickly(bytes, first_write_, is_alone)) detector_.Revive(cell, bytes, stamp_);
  }
  // The same of whole granules: how many of them it was quickly done for.
  [[gnu::always_inline]] uint64_t BeginWhole(Detector::Cell* cells, uint64_t count, bool is_alone) const {
    return is_alone ? BeginWhole<true>(cells, count) : BeginWhole<false>(cells, count);
  }
  static bool EndsAnother(const Detector::Cell&) { return true; }

 private:
  template <bool kIsAlone>
  [[gnu::always_inline]] uint64_t BeginWhole(Detector::Cell* cells, uint64_t count) const {
    const PackedAccess first = first_write_;  // what is stored might be *this, as far as the compiler can tell
    uint64_t i = 0;
    while (i < count && cells[i].RestartsQuickly(kAllBytes, first, kIsAlone)) ++i;
    return i;
  }

  Detector& detector_;
  const Detector::Stamp stamp_;
  const PackedAccess first_write_;  // or none, if that is not to be known of
};
inline void FindObjectsBy(Detector&, FindObject) {}  // no cell is of more than a granule
#endif

}  // namespace redflag::rt
