// BoundedClock: a vector clock that never holds more than a fixed number of slots (RaceTrack 3.5). It
// remembers in which order slots were last learnt about; when it is full it forgets the older half. What is
// forgotten reads as "never", so a detector that uses it may see concurrency where there is order (false
// alarms), and never misses concurrency that is there.
//
// Meant for detectors that promise bounded memory per thread. Same rules as VectorClock: one owner, Arena
// memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/arena.h"
#include "base/check.h"
#include "base/vector.h"
#include "clocks/epoch.h"

namespace redflag {

template <class Mem>
class BoundedClock {
 public:
  static constexpr uint32_t kPaperBound = 8192;  // RaceTrack's own setting

  explicit BoundedClock(Arena<Mem>& arena, uint32_t bound = kPaperBound) : entries_(arena), bound_(bound) {
    REDFLAG_CHECK(bound >= 2);
  }

  Time Get(Slot slot) const {
    const size_t i = Find(slot);
    return i < entries_.size() && entries_[i].slot == slot ? entries_[i].time : kNever;
  }
  bool Knows(Epoch epoch) const { return TimeOf(epoch) <= Get(SlotOf(epoch)); }

  // Raises the slot to `time`; counts as an update of the slot only if it learns something.
  void Raise(Slot slot, Time time) {
    size_t i = Find(slot);
    if (i < entries_.size() && entries_[i].slot == slot) {
      if (time > entries_[i].time) {
        entries_[i].time = time;
        entries_[i].learnt = ++now_;
      }
      return;
    }
    if (entries_.size() == bound_) {
      ForgetOlderHalf();
      i = Find(slot);
    }
    entries_.Insert(i, Entry{.slot = slot, .time = time, .learnt = ++now_});
  }

  void Join(const BoundedClock& other) {
    for (const Entry& entry : other.entries_) Raise(entry.slot, entry.time);
  }

  size_t size() const { return entries_.size(); }
  uint64_t forgotten() const { return forgotten_; }

 private:
  struct Entry {
    Slot slot;
    Time time;
    uint64_t learnt;  // the temporal order of updates
  };

  // The first entry whose slot is not below `slot`; entries are sorted by slot.
  size_t Find(Slot slot) const {
    size_t low = 0;
    size_t high = entries_.size();
    while (low < high) {
      const size_t middle = (low + high) / 2;
      if (entries_[middle].slot < slot) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  // `learnt` values are distinct, so a binary search over them finds the median without sorting.
  void ForgetOlderHalf() {
    const size_t keep = entries_.size() - entries_.size() / 2;
    uint64_t low = 0;
    uint64_t high = now_ + 1;
    while (high - low > 1) {
      const uint64_t middle = low + (high - low) / 2;
      size_t newer = 0;
      for (const Entry& entry : entries_) newer += entry.learnt >= middle;
      (newer >= keep ? low : high) = middle;
    }
    for (size_t i = entries_.size(); i-- > 0;) {
      if (entries_[i].learnt < low) {
        entries_.Remove(i);
        ++forgotten_;
      }
    }
  }

  Vector<Entry, Mem> entries_;
  uint32_t bound_;
  uint64_t now_ = 0;
  uint64_t forgotten_ = 0;
};

}  // namespace redflag
