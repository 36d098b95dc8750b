// EventLocksets: the lock set that counts for an access (ThreadSanitizer 4.1; the reader-writer rule of Eraser and
// RaceTrack 3.1): for a write the locks held for writing (LS_Wr), for a read all locks held (LS_Rd). Both are sets of plain
// locks, without modes, so that a lock held for writing here and for reading there is in the intersection.
//
// Translates a lockset with modes, as HeldLocks names it, and remembers the answer. Thread-safe under AtomicMem.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "base/hash_map.h"
#include "base/mem.h"
#include "base/vector.h"
#include "clocks/lockset.h"
#include "events/access.h"

namespace redflag {

template <class Mem>
class EventLocksets {
 public:
  EventLocksets(Arena<Mem>& arena, LocksetTable<Mem>& table) : arena_(arena), table_(table), known_(arena) {}

  LocksetId For(LocksetId held, AccessKind kind) {
    if (held == kEmptyLockset) return kEmptyLockset;
    ScopedLock guard(lock_);
    Pair& pair = known_.Insert(Raw(held));
    if (!pair.known) pair = Pair{.known = true, .writer = Translate(held, true), .reader = Translate(held, false)};
    return IsWrite(kind) ? pair.writer : pair.reader;
  }

 private:
  struct Pair {
    bool known;
    LocksetId writer;
    LocksetId reader;
  };

  LocksetId Translate(LocksetId held, bool exclusive_only) {
    Vector<HeldLock, Mem> locks(arena_);
    for (const HeldLock lock : table_.View(held)) {
      if (exclusive_only && ModeOf(lock) == LockMode::kShared) continue;
      const HeldLock plain = MakeHeldLock(LockOf(lock), LockMode::kExclusive);
      if (locks.empty() || locks.back() != plain) locks.Push(plain);
    }
    return table_.Intern(locks.begin(), static_cast<uint32_t>(locks.size()));
  }

  typename Mem::Lock lock_;
  Arena<Mem>& arena_;
  LocksetTable<Mem>& table_;
  HashMap<Pair, Mem> known_;  // by the id of the set with modes
};

}  // namespace redflag
