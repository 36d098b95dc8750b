// SegmentHistory: the segment sets SS_Wr and SS_Rd of a granule (ThreadSanitizer 4.1, 4.2), byte by byte. A segment is what
// one thread does between two synchronization events: one place in the happens-before order, one set of locks. It is
// remembered by value as one of its accesses (4.3, history mode 2: the context is exact), so there is no table of
// segments to fill up, and recycling (6.2) is forgetting.
//
// Unlike AccessHistory it keeps accesses that are not ordered but share a lock: whether they race is asked anew for every
// pair (4.5). 6.1 limits a set to 4 segments: when a byte has more writers, or more readers, the one that came first goes.
//
// An all-zero history is empty. Not thread-safe: the detector locks the cell.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "clocks/history_entry.h"
#include "events/access.h"

namespace redflag {

template <class Mem>
class SegmentHistory {
 public:
  // The bytes of `access` for which it can teach something: no access of the same segment that covers it is remembered.
  ByteMask NewBytes(const HistoryEntry& access) const {
    ByteMask bytes = access.bytes;
    for (uint32_t i = 0; i < count_; ++i) {
      const HistoryEntry& entry = data()[i];
      if (entry.epoch == access.epoch && entry.locks == access.locks && Covers(entry.kind, access.kind)) {
        bytes = bytes & ~entry.bytes;
      }
    }
    return bytes;
  }

  // Calls visit(entry) for each remembered access that conflicts with `access` on some byte and that `clock` does not
  // know, the one that came first first. Locks are the caller's business.
  template <class Clock, class Visitor>
  void ForEachUnordered(const Clock& clock, const HistoryEntry& access, Visitor visit) const {
    for (uint32_t i = 0; i < count_; ++i) {
      const HistoryEntry& entry = data()[i];
      if (Any(entry.bytes & access.bytes) && Conflicts(entry.kind, access.kind) && !clock.Knows(entry.epoch)) {
        visit(entry);
      }
    }
  }

  // [TS 4.2 l.6-9]: drops what is ordered before `access` and covered by it, and adds it. Returns how many segments the
  // limit pushed out; 0: no limit.
  template <class Clock>
  uint32_t Record(Arena<Mem>& arena, const Clock& clock, const HistoryEntry& access, uint32_t limit) {
    for (uint32_t i = 0; i < count_; ++i) {
      HistoryEntry& entry = data()[i];
      if (!Any(entry.bytes & access.bytes)) continue;
      if (Covers(access.kind, entry.kind) && clock.Knows(entry.epoch)) entry.bytes = entry.bytes & ~access.bytes;
    }
    Compact();
    Append(arena, access);
    return limit == 0 ? 0 : EnforceLimit(access, limit);
  }

  // Remembers `access` to bytes of which nothing else is remembered.
  void Remember(Arena<Mem>& arena, const HistoryEntry& access) { Append(arena, access); }

  void Forget(Arena<Mem>& arena, ByteMask bytes) {
    for (uint32_t i = 0; i < count_; ++i) data()[i].bytes = data()[i].bytes & ~bytes;
    Compact();
    if (count_ == 0 && capacity_ != 0) {
      arena.Free(more_, capacity_ * sizeof(HistoryEntry));
      capacity_ = 0;
    }
  }

  uint32_t size() const { return count_; }

 private:
  static constexpr uint32_t kFew = 2;

  // The first two entries are in place until there are three.
  HistoryEntry* data() { return capacity_ == 0 ? few_ : more_; }
  const HistoryEntry* data() const { return capacity_ == 0 ? few_ : more_; }

  // Closes the gaps that empty entries leave, keeping the order of arrival.
  void Compact() {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count_; ++i) {
      if (Any(data()[i].bytes)) data()[kept++] = data()[i];
    }
    count_ = kept;
  }

  void Append(Arena<Mem>& arena, const HistoryEntry& access) {
    const uint32_t room = capacity_ == 0 ? kFew : capacity_;
    if (count_ == room) {
      const uint32_t capacity = 2 * room;
      auto* bigger = static_cast<HistoryEntry*>(arena.Allocate(capacity * sizeof(HistoryEntry)));
      for (uint32_t i = 0; i < count_; ++i) bigger[i] = data()[i];
      if (capacity_ != 0) arena.Free(more_, capacity_ * sizeof(HistoryEntry));
      more_ = bigger;
      capacity_ = capacity;
    }
    data()[count_++] = access;
  }

  // For each byte of `access`: if more than `limit` segments of its kind (writers or readers) are remembered, the first
  // goes. Only one can be too many.
  uint32_t EnforceLimit(const HistoryEntry& access, uint32_t limit) {
    uint32_t evicted = 0;
    for (uint32_t byte = 0; byte < kGranule; ++byte) {
      const ByteMask bit{static_cast<uint8_t>(1u << byte)};
      if (!Any(access.bytes & bit)) continue;
      uint32_t segments = 0;
      HistoryEntry* first = nullptr;
      for (uint32_t i = 0; i < count_; ++i) {
        HistoryEntry& entry = data()[i];
        if (!Any(entry.bytes & bit) || IsWrite(entry.kind) != IsWrite(access.kind)) continue;
        if (first == nullptr) first = &entry;
        ++segments;
      }
      if (segments <= limit) continue;
      first->bytes = first->bytes & ~bit;
      ++evicted;
    }
    if (evicted != 0) Compact();
    return evicted;
  }

  uint32_t count_ = 0;
  uint32_t capacity_ = 0;  // of more_; 0: the entries are in few_
  HistoryEntry* more_ = nullptr;
  HistoryEntry few_[kFew];
};

}  // namespace redflag
