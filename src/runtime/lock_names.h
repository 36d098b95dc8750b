// LockNames: which locks a set of them means, and where each was taken. For detectors that remember a set of locks with each access
// (AccessRecord::locks): together with the chain of the access's context it names one entry here.
//
// Entries are never changed and never go; the number of ways in which a program holds locks together is small.
//
// Locks: one, for a look or an insertion.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "base/hash_map.h"
#include "base/mem.h"
#include "runtime/lock_log.h"

namespace redflag::rt {

class LockNames {
 public:
  explicit LockNames(Arena<AtomicMem>& arena) : arena_(arena), entries_(arena) {}

  void Add(LocksetId set, const HeldAt* locks, uint32_t count) {
    ScopedLock guard(lock_);
    LockLog::Entry*& entry = entries_.Insert(KeyOf(set, locks[count - 1].chain));
    if (entry != nullptr) return;
    entry = arena_.New<LockLog::Entry>();
    entry->count = count;
    for (uint32_t i = 0; i < count && i < LockLog::kMaxLocks; ++i) entry->locks[i] = locks[i];
  }

  // False: there is none, for the access was made when nobody asked.
  bool Find(LocksetId set, ContextId chain, LockLog::Entry& found) {
    ScopedLock guard(lock_);
    LockLog::Entry** entry = entries_.Find(KeyOf(set, chain));
    if (entry != nullptr) found = **entry;
    return entry != nullptr;
  }

 private:
  static uint64_t KeyOf(LocksetId set, ContextId chain) { return uint64_t{Raw(set)} << 32 | Raw(chain); }

  AtomicMem::Lock lock_;
  Arena<AtomicMem>& arena_;
  HashMap<LockLog::Entry*, AtomicMem> entries_;
};

}  // namespace redflag::rt
