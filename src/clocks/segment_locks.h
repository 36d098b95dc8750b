// SegmentLocks: which locks were held in a segment, where cells keep no more of an access than its slot and time. A segment is what a
// thread does between two synchronization events, so that its slot and time name it (ThreadSanitizer 4.1).
//
// A table for each slot, 8 bytes a time, in memory that is there once it was touched. Written by the thread that has the slot, before it
// records an access of that time; read by everybody.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "clocks/epoch.h"
#include "clocks/lockset.h"

namespace redflag {

template <uint32_t kSlots, uint64_t kTimes>
class SegmentLocks {
 public:
  SegmentLocks() = default;
  ~SegmentLocks() {
    for (uint64_t* table : tables_) {
      if (table != nullptr) UnmapPages(table, kTableBytes);
    }
  }
  SegmentLocks(const SegmentLocks&) = delete;
  SegmentLocks& operator=(const SegmentLocks&) = delete;

  void Set(Epoch segment, HeldSet locks) {
    uint64_t*& table = tables_[Raw(SlotOf(segment)) % kSlots];
    if (table == nullptr) {
      if (locks.is_empty()) return;
      __atomic_store_n(&table, static_cast<uint64_t*>(MapPages(kTableBytes)), __ATOMIC_RELEASE);
    }
    uint64_t& place = table[IndexOf(segment)];
    if (place != locks.raw()) __atomic_store_n(&place, locks.raw(), __ATOMIC_RELEASE);
  }

  HeldSet Of(Epoch segment) const {
    const uint64_t* table = __atomic_load_n(&tables_[Raw(SlotOf(segment)) % kSlots], __ATOMIC_ACQUIRE);
    if (table == nullptr) return HeldSet();
    return HeldSet::FromRaw(__atomic_load_n(table + IndexOf(segment), __ATOMIC_ACQUIRE));
  }

  // Nobody asks or tells meanwhile: no segment has locks.
  void Clear() {
    for (uint64_t* table : tables_) {
      if (table != nullptr) ForgetPages(table, kTableBytes);
    }
  }

 private:
  static constexpr uint64_t kTableBytes = (kTimes + 1) * sizeof(uint64_t);
  static uint64_t IndexOf(Epoch segment) { return Raw(TimeOf(segment)) < kTimes ? Raw(TimeOf(segment)) : kTimes; }

  uint64_t* tables_[kSlots] = {};  // of a HeldSet each
};

}  // namespace redflag
