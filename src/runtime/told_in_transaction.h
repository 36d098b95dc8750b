// ToldInTransaction: what a thread's transaction has told of already. Transactions touch the same few things again and again, and their reads and
// writes are gone through several times when they commit. A small table by address: it may have forgotten, and never makes anything up.
// Of one thread.
#pragma once

#include <cstdint>

#include "clocks/commit_clocks.h"

namespace redflag::rt {

class ToldInTransaction {
 public:
  // Was this told, or as much? From now on it was.
  bool Covers(const Footprint& what) {
    Entry& entry = entries_[Raw(what.addr) / kLeast % kEntries];
    if (entry.transaction == transaction_ && entry.what.addr == what.addr && entry.what.size >= what.size &&
        redflag::Covers(entry.what.kind, what.kind)) {
      return true;
    }
    entry = {.what = what, .transaction = transaction_};
    return false;
  }
  // The transaction is over, or a part of it was undone.
  void Forget() { ++transaction_; }

 private:
  static constexpr uint64_t kLeast = 4;
  static constexpr uint32_t kEntries = 64;
  struct Entry {
    Footprint what;
    uint64_t transaction = 0;
  };
  Entry entries_[kEntries];
  uint64_t transaction_ = 1;
};

}  // namespace redflag::rt
