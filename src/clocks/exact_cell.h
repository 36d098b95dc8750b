// ExactCell, SegmentCell: what is kept of one granule where memory is plentiful: every remembered access in full, the locks held at it
// included. They differ in the history that they keep: what matters to the order of accesses (clocks/access_history.h), or the segment
// sets (clocks/segment_history.h). The offline engine uses them; clocks/packed_cell.h is the small one, with the same operations.
//
// Opened is the cell under its lock. It is what a detector works on.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "base/mem.h"
#include "clocks/access_history.h"
#include "clocks/epoch.h"
#include "clocks/history_entry.h"
#include "clocks/segment_history.h"
#include "events/access.h"

namespace redflag {

template <class Mem, template <class> class History>
class CellWithHistory {
 public:
  static constexpr uint32_t kSlots = kMaxSlots;
  static constexpr uint64_t kTimes = kMaxTime;
  static constexpr bool kKeepsLocks = true;

  class Opened {
   public:
    explicit Opened(CellWithHistory& cell) : guard_(cell.lock_), cell_(cell) {}

    // Bytes whose first race was reported.
    ByteMask racy() const { return cell_.racy_; }
    void AddRacy(Arena<Mem>& arena, ByteMask bytes) {
      cell_.racy_ = cell_.racy_ | bytes;
      cell_.history_.Forget(arena, bytes);
    }

    // For detectors that go by the order of accesses.
    template <class Clock>
    auto Examine(const Clock& clock, const HistoryEntry& access) const {
      return cell_.history_.Examine(clock, access);
    }
    template <class Clock, class Visitor>
    void ForEachRace(const Clock& clock, const HistoryEntry& access, Visitor visit) const {
      cell_.history_.ForEachRace(clock, access, visit);
    }
    template <class Clock>
    void Record(Arena<Mem>& arena, const Clock& clock, const HistoryEntry& access) {
      cell_.history_.Record(arena, clock, access);
    }
    template <class IsOld>
    void RecordBeside(Arena<Mem>& arena, const HistoryEntry& access, IsOld is_old) {
      cell_.history_.RecordBeside(arena, access, is_old);
    }
    bool is_spread() const { return cell_.history_.is_spread(); }

    // For detectors that keep segments.
    ByteMask NewBytes(const HistoryEntry& access) const { return cell_.history_.NewBytes(access); }
    template <class Clock, class Visitor>
    void ForEachUnordered(const Clock& clock, const HistoryEntry& access, Visitor visit) const {
      cell_.history_.ForEachUnordered(clock, access, visit);
    }
    template <class Clock>
    uint32_t RecordSegment(Arena<Mem>& arena, const Clock& clock, const HistoryEntry& access, uint32_t limit) {
      return cell_.history_.Record(arena, clock, access, limit);
    }

    // Begins anew: nothing is known of these bytes but this access; or nothing at all.
    void Restart(Arena<Mem>& arena, const HistoryEntry& first) {
      Clear(arena, first.bytes);
      cell_.history_.Remember(arena, first);
    }
    void Clear(Arena<Mem>& arena, ByteMask bytes) {
      cell_.history_.Forget(arena, bytes);
      cell_.racy_ = cell_.racy_ & ~bytes;
    }

   private:
    ScopedLock<typename Mem::Lock> guard_;
    CellWithHistory& cell_;
  };

  // Becomes an empty cell, and gives back what it owned.
  void Clear(Arena<Mem>& arena) {
    history_.Forget(arena, kAllBytes);
    racy_ = kNoBytes;
  }

 private:
  History<Mem> history_;
  [[no_unique_address]] typename Mem::Lock lock_;
  ByteMask racy_{};
};

template <class Mem>
class ExactCell : public CellWithHistory<Mem, AccessHistory> {
 public:
  using Finding = typename AccessHistory<Mem>::Finding;
};

template <class Mem>
class SegmentCell : public CellWithHistory<Mem, SegmentHistory> {};

}  // namespace redflag
