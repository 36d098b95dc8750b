// CountedLocks: which locks count for an access, for detectors that keep a candidate set C(x) of locks (lockset,
// racetrack). One for each thread; it remembers the last answers, because locks change less often than memory is touched.
//
//   write                  the locks held for writing       Eraser's reader-writer rule, RaceTrack 3.1
//   read                   all locks held                   the same
//   by a transaction       the same, and TL                 transactions exclude each other as one lock would
//
// The sets are of plain locks, without modes (clocks/event_locksets.h).
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "base/vector.h"
#include "clocks/event_locksets.h"
#include "clocks/lockset.h"
#include "events/access.h"

namespace redflag {

// TL: the lock that every transaction holds and nobody else. Above every real lock, so that it comes last in a set.
inline constexpr HeldLock kTransactionLock{UINT32_MAX};

template <class Mem>
class CountedLocks {
 public:
  CountedLocks(Arena<Mem>& arena, LocksetTable<Mem>& table, EventLocksets<Mem>& modes)
      : arena_(arena), table_(table), modes_(modes) {}

  LocksetId For(LocksetId held, AccessKind kind, AccessOrigin origin) {
    if (held != held_) {
      held_ = held;
      read_ = modes_.For(held, AccessKind::kRead);
      write_ = modes_.For(held, AccessKind::kWrite);
    }
    const LocksetId counted = IsWrite(kind) ? write_ : read_;
    return origin == AccessOrigin::kTransaction ? WithTransactionLock(counted) : counted;
  }

 private:
  LocksetId WithTransactionLock(LocksetId set) {
    const LocksetView view = table_.View(set);
    Vector<HeldLock, Mem> locks(arena_);
    for (const HeldLock lock : view) locks.Push(lock);
    locks.Push(kTransactionLock);
    return table_.Intern(locks.begin(), static_cast<uint32_t>(locks.size()));
  }

  Arena<Mem>& arena_;
  LocksetTable<Mem>& table_;
  EventLocksets<Mem>& modes_;
  LocksetId held_ = kEmptyLockset;
  LocksetId read_ = kEmptyLockset;
  LocksetId write_ = kEmptyLockset;
};

}  // namespace redflag
