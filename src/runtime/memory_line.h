// Lines of 64 bytes that one thread alone has touched, for a detector that ignores what it does there until somebody else comes
// (ThreadSanitizer 4.4.2; detectors/fast.h).
//
//   0             nobody was here
//   1 + a thread  nobody else was here: its accesses leave a label for the filter, and nothing that anybody will be compared with
//   kShared       several were here
//
// Whoever comes second marks the line as shared and then empties its cells. The first one stores a label and then looks at the line again,
// if it is not alone in the region (regions.h): either it finds the mark, and takes the label back, or the other one finds the label.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "clocks/packed_access.h"
#include "runtime/shadow.h"

namespace redflag::rt {

class MemoryLine {
 public:
  static constexpr uint64_t kBytes = uint64_t{1} << Shadow::kLineShift;

  [[gnu::always_inline]] MemoryLine(uint32_t* place, Tid thread) : place_(place), mine_(Raw(thread) + 1) {}

  // Is it this thread's alone? If nobody was here it is from now on.
  [[gnu::always_inline]] bool IsMine() const {
    const uint32_t now = __atomic_load_n(place_, __ATOMIC_RELAXED);
    return now == mine_ || (now == 0 && Claim());
  }

  bool IsShared() const { return __atomic_load_n(place_, __ATOMIC_ACQUIRE) == kShared; }

  // This thread is here too. True: it is the second one, and has to see to the cells.
  bool Share() const {
    uint32_t now = __atomic_load_n(place_, __ATOMIC_ACQUIRE);
    while (now != kShared) {
      if (__atomic_compare_exchange_n(place_, &now, kShared, false, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE)) return true;
    }
    return false;
  }

  // Leaves a label in a cell of the line, which is this thread's. "no": nothing is left there.
  template <class Cell>
  [[gnu::always_inline]] bool Leave(Cell& cell, PackedAccess label, bool is_alone) const {
    const auto before = cell.Load();
    if (!before.is_in_place()) return false;
    const PackedAccess last(before.write);
    const uint64_t word = last.SameMoment(label) ? last.With(last.bytes() | label.bytes()).word() : label.word();
    const typename Cell::Words after{.write = word, .read = word};
    if (is_alone) {
      cell.Store(after);
      return true;
    }
    if (!cell.CompareExchange(before, after)) return false;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(place_, __ATOMIC_RELAXED) == mine_) return true;
    cell.CompareExchange(after, {.write = 0, .read = 0});
    return false;
  }

 private:
  static constexpr uint32_t kShared = UINT32_MAX;

  [[gnu::noinline]] bool Claim() const {
    uint32_t nobody = 0;
    return __atomic_compare_exchange_n(place_, &nobody, mine_, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
  }

  uint32_t* const place_;
  const uint32_t mine_;
};

}  // namespace redflag::rt
