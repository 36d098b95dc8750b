// SegmentLocks: which locks were held in a segment, where cells keep no more of an access than its slot and time. A segment is what a
// thread does between two synchronization events, so that its slot and time name it (ThreadSanitizer 4.1).
//
// A table for each slot, 4 bytes a time, in memory that is there once it was touched. Written by the thread that has the slot, before it
// records an access of that time; read by everybody.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "base/ids.h"
#include "clocks/epoch.h"

namespace redflag {

template <uint32_t kSlots, uint64_t kTimes>
class SegmentLocks {
 public:
  SegmentLocks() = default;
  ~SegmentLocks() {
    for (uint32_t* table : tables_) {
      if (table != nullptr) UnmapPages(table, kTableBytes);
    }
  }
  SegmentLocks(const SegmentLocks&) = delete;
  SegmentLocks& operator=(const SegmentLocks&) = delete;

  void Set(Epoch segment, LocksetId locks) {
    uint32_t*& table = tables_[Raw(SlotOf(segment)) % kSlots];
    if (table == nullptr) {
      if (locks == kEmptyLockset) return;
      __atomic_store_n(&table, static_cast<uint32_t*>(MapPages(kTableBytes)), __ATOMIC_RELEASE);
    }
    uint32_t& place = table[IndexOf(segment)];
    if (place != Raw(locks)) __atomic_store_n(&place, Raw(locks), __ATOMIC_RELEASE);
  }

  LocksetId Of(Epoch segment) const {
    const uint32_t* table = __atomic_load_n(&tables_[Raw(SlotOf(segment)) % kSlots], __ATOMIC_ACQUIRE);
    return table == nullptr ? kEmptyLockset : LocksetId{__atomic_load_n(table + IndexOf(segment), __ATOMIC_ACQUIRE)};
  }

  // Nobody asks or tells meanwhile: no segment has locks.
  void Clear() {
    for (uint32_t* table : tables_) {
      if (table != nullptr) ForgetPages(table, kTableBytes);
    }
  }

 private:
  static constexpr uint64_t kTableBytes = (kTimes + 1) * sizeof(uint32_t);
  static uint64_t IndexOf(Epoch segment) { return Raw(TimeOf(segment)) < kTimes ? Raw(TimeOf(segment)) : kTimes; }

  uint32_t* tables_[kSlots] = {};  // of a LocksetId each
};

}  // namespace redflag
