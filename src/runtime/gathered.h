// Gathered: accesses to parts of granules that a thread has made and not recorded yet.
//
// Who walks through bytes comes to each granule eight times, and each time what was there before is covered a little more. So accesses to less than a
// granule wait here, in a list of the thread's own, for others to the rest of it, from wherever in the program. They are recorded, each granule as one,
//   - when the list is full: all of them, one after the other; their cells were looked at when they came, and are at hand by then
//   - of one granule, when the same bytes are accessed again: what comes next is then known by the cell at a glance
//   - before the thread enters the runtime for whatever reason (Runtime::Enter), thus before its time changes, before it frees anything, before it ends
//
// Nothing is lost or invented by the delay. A race is found by whoever comes second to the cell, and the one who has waited compares itself with all that is
// there, with the knowledge that it had when it made the access, since that has not changed. Where something is to be done at the very access (policy.h) nothing waits.
//
// Used by its own thread. It says that it is inside (Thread::mode) and looks at the gate before it adds anything: when that is closed and nobody is inside, whoever closed
// it finds entries whole (Runtime::RecordGatheredByOthers).
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "events/access.h"

namespace redflag::rt {

class Gathered {
 public:
  // Those to one granule, all reads or all writes; no byte twice.
  struct Entry {
    uint64_t key;  // 0: they are recorded. The granule, and whether they are writes
    uint8_t bytes;
    uint8_t firsts;         // a bit for the first byte of each
    uint16_t sizes;         // of each that begins at byte i, where 2i is: 0, 1, 2: of 1, 2, 4 bytes
    ContextId contexts[8];  // at its first byte

    uint64_t granule() const { return key & ~uint64_t{1}; }
    AccessKind kind() const { return (key & 1) != 0 ? AccessKind::kWrite : AccessKind::kRead; }
    // Calls visit(first byte, size, context) for each.
    template <class Visitor>
    void ForEach(Visitor visit) const {
      for (uint32_t left = firsts; left != 0; left &= left - 1) {
        const auto first = static_cast<uint32_t>(__builtin_ctz(left));
        visit(first, 1u << (sizes >> 2 * first & 3), contexts[first]);
      }
    }
    void Begin(uint64_t new_key) {
      bytes = firsts = 0;
      sizes = 0;
      key = new_key;
    }
    template <int kSize>
    void Add(uint32_t first, uint64_t needed, ContextId context) {
      static_assert(kSize == 1 || kSize == 2 || kSize == 4);
      bytes |= static_cast<uint8_t>(needed);
      firsts |= static_cast<uint8_t>(1u << first);
      sizes |= static_cast<uint16_t>(kSize / 2 << 2 * first);
      contexts[first] = context;
    }
  };

  static constexpr uint32_t kMost = 32;

  static uint64_t KeyOf(uint64_t addr, bool is_write) { return (addr & ~uint64_t{7}) | (is_write ? 1 : 0); }

  bool is_empty() const { return count_ == 0; }
  bool is_full() const { return count_ == kMost; }

  // Null: there are none.
  Entry* Find(uint64_t key) {
    Entry& entry = entries_[places_[PlaceOf(key)]];
    return entry.key == key ? &entry : nullptr;
  }
  // The list is not full.
  Entry& Append(uint64_t key) {
    Entry& entry = entries_[count_];
    entry.Begin(key);
    places_[PlaceOf(key)] = static_cast<uint8_t>(count_);
    ++count_;
    return entry;
  }

  // What was written need not be read.
  bool HasWritten(uint64_t addr, uint64_t needed) {
    const Entry* entry = Find(KeyOf(addr, true));
    return entry != nullptr && (entry->bytes & needed) == needed;
  }

  // Calls visit(entry) for all that are not recorded, which it marks so (Entry::key), and forgets them.
  template <class Visitor>
  void TakeAll(Visitor visit) {
    for (uint32_t i = 0; i < count_; ++i) {
      if (entries_[i].key != 0) visit(entries_[i]);
    }
    count_ = 0;
  }

 private:
  static constexpr uint32_t kPlaces = 64;
  static uint32_t PlaceOf(uint64_t key) { return static_cast<uint32_t>(key >> 3 ^ key << 5) % kPlaces; }

  // Those from `count_` on are recorded, all of them.
  Entry entries_[kMost] = {};
  uint8_t places_[kPlaces] = {};  // where what is gathered of some granule may be
  uint32_t count_ = 0;
};

}  // namespace redflag::rt
