// LockLog: which locks a slot's owner held, and where it had taken them, since which time. Cells don't keep locks: an access is
// labelled with a time, the time advances when the locks have changed since something was last recorded, and this log
// knows the rest. A ring: what it has forgotten is reported as unknown, never as none.
//
// Written by the thread that owns the slot; read by whoever reports a race, under the log's lock. Times of a slot only rise, also
// from owner to owner, so that one log serves them all.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "base/mem.h"
#include "clocks/epoch.h"
#include "events/event.h"

namespace redflag::rt {

// A lock that is held: the program's name for it, and the stack of its acquisition.
struct HeldAt {
  uint64_t address;
  ContextId context;
  LockMode mode;
  uint16_t depth;
};

class LockLog {
 public:
  static constexpr uint32_t kMaxLocks = 6;  // of one entry; more are counted and not named

  struct Entry {
    Time since = kNever;
    uint32_t count = 0;  // may exceed kMaxLocks
    uint32_t reserved = 0;
    HeldAt locks[kMaxLocks] = {};
  };

  void Add(Time since, const HeldAt* locks, uint32_t count) {
    ScopedLock guard(lock_);
    if (entries_ == nullptr) entries_ = static_cast<Entry*>(MapPages(kEntries * sizeof(Entry)));
    Entry& entry = entries_[next_++ % kEntries];
    entry.since = since;
    entry.count = count;
    for (uint32_t i = 0; i < count && i < kMaxLocks; ++i) entry.locks[i] = locks[i];
  }

  // The locks held at `time`. False: forgotten.
  bool Find(Time time, Entry& found) {
    ScopedLock guard(lock_);
    const uint64_t oldest = next_ > kEntries ? next_ - kEntries : 0;
    for (uint64_t i = next_; i > oldest; --i) {
      if (entries_[(i - 1) % kEntries].since > time) continue;
      found = entries_[(i - 1) % kEntries];
      return true;
    }
    return false;
  }

 private:
  static constexpr uint64_t kEntries = 1024;

  AtomicMem::Lock lock_;
  Entry* entries_ = nullptr;
  uint64_t next_ = 0;
};

}  // namespace redflag::rt
