// lockset: Eraser's locking discipline: every shared variable is protected by some lock, the same one all the time. Reports
// a variable that is written after it became shared when no lock is left that all accesses since had in common. Insensitive to
// the schedule, blind to every other kind of synchronization: false alarms wherever a program uses fork and join, signals or
// atomics. The yardstick for what the other detectors gain; docs/algorithms/lockset.md.
//
// Notation
//   locks_held(t)  Thread::counted   by kind of access; transactions hold TL too; touched by t only
//   state(v)       Variable::phase   Virgin, Exclusive, Shared, Shared-Modified; and Reported, in which v is ignored
//   C(v)           Variable::candidates   the locks that may protect v; means something in the Shared states
//   v              a byte; bytes that were always touched together share a Variable; touched under the lock of the cell
//
// Each rule carries its tag and a counter. Eraser is Savage et al., TOCS 15(4), 1997 (ER); RaceTrack's paper is RT.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "clocks/byte_groups.h"
#include "clocks/commit_clocks.h"
#include "clocks/event_locksets.h"
#include "clocks/lockset.h"
#include "detectors/counted_locks.h"
#include "detectors/detector.h"
#include "detectors/last_accesses.h"

namespace redflag {

template <class Mem>
class Lockset {
 public:
  static constexpr const char* kName = "lockset";
  static constexpr const char* kSummary = "Eraser's locking discipline: every shared variable keeps to one lock";
  static constexpr const char* kWhyMore =
      "knows locks only: fork and join, signals and atomics order nothing for it [ER discipline]";
  static constexpr const char* kWhyLess =
      "lets a variable be that is only read after it became shared, or keeps to one lock since [ER states]";
  static constexpr Map kMap = Map::kGranule;
  static constexpr Filter kFilter = Filter::kExclusive;
  static constexpr AfterRace kAfterRace = AfterRace::kIgnoreByte;
  static constexpr bool kReports = true;
  static constexpr Claim kClaim = Claim::kUnprotected;

  enum Rule : uint8_t {
    kFirst,
    kOwn,
    kShare,
    kShareModified,
    kSharedRead,
    kModify,
    kModified,
    kRace,
    kIgnored,
    kAtomic,
    kFreed,
    kLock,
    kUnlock,
    kCommit,
    kOrder,
    kLifetime,
    kRuleCount,
  };
  static constexpr RuleInfo kRules[kRuleCount] = {
      {"virgin to exclusive", "[ER first]"},
      {"exclusive", "[ER own]"},
      {"exclusive to shared", "[ER share]"},
      {"exclusive to shared-modified", "[ER share]"},
      {"shared", "[ER shared]"},
      {"shared to shared-modified", "[ER modify]"},
      {"shared-modified", "[ER modified]"},
      {"race", "[ER report]"},
      {"ignored after race", "[TS 4.2 ignore]"},
      {"atomic, not tracked", "[RT 3.4]"},
      {"free", "[LOCKSET free]"},
      {"lock", "[ER locks_held]"},
      {"unlock", "[ER locks_held]"},
      {"commit", "[LOCKSET TL]"},
      {"order, not used", "[ER discipline]"},
      {"lifetime", "[ER virgin]"},
  };

  struct Thread : ThreadBase<Mem> {
    Thread(Lockset& d, Tid id) : ThreadBase<Mem>(d.arena_, d.locksets_, id), counted(d.arena_, d.locksets_, d.modes_) {}
    CountedLocks<Mem> counted;
    uint64_t counts[kRuleCount] = {};
  };
  struct Sync {
    explicit Sync(Lockset&) {}
  };

  enum class Phase : uint8_t { kVirgin, kExclusive, kShared, kSharedModified, kReported };
  struct Variable {
    Phase phase = Phase::kVirgin;
    Tid owner{};             // in Exclusive
    LocksetId candidates{};  // in Shared and Shared-Modified
    // Eraser keeps no accesses; these are for the other side of a report.
    LastAccesses<SeenAccess> reads{};
    LastAccesses<SeenAccess> writes{};

    bool operator==(const Variable&) const = default;
  };
  struct Cell {
    ByteGroups<Variable, Mem> variables;
    [[no_unique_address]] typename Mem::Lock lock;
  };
  // A lifetime begins with Virgin bytes, whoever began it.
  struct Stamp {};

  Lockset() : locksets_(arena_), modes_(arena_, locksets_) {}

  // ---- Order: [ER discipline] takes none ----

  Tag OnStart(Thread&) { return Tag::kKept; }
  Tag OnFork(Thread& parent, Thread&) { return NoOrder(parent); }
  Tag OnJoin(Thread& t, Thread&) { return NoOrder(t); }
  Tag OnEnd(Thread&) { return Tag::kKept; }
  Tag OnPureHbLock(Thread& t, Sync&) { return NoOrder(t); }
  Tag OnAcquire(Thread& t, Sync&) { return NoOrder(t); }
  Tag OnReleaseStore(Thread& t, Sync&) { return NoOrder(t); }
  Tag OnReleaseMerge(Thread& t, Sync&) { return NoOrder(t); }
  Tag OnRelaxedLoad(Thread& t, Sync&) { return NoOrder(t); }
  Tag OnRelaxedStore(Thread& t, Sync&) { return NoOrder(t); }
  Tag OnRelaxedMerge(Thread& t, Sync&) { return NoOrder(t); }
  Tag OnAcquireFence(Thread& t) { return NoOrder(t); }
  Tag OnReleaseFence(Thread& t) { return NoOrder(t); }

  // ---- Locks: the engine keeps locks_held(t). With one lock more a repetition still changes nothing; with one less it may ----

  Tag OnLock(Thread& t, Sync&, LockMode) {
    ++t.counts[kLock];
    return Tag::kKept;
  }
  Tag OnUnlock(Thread& t, Sync&, LockMode) {
    ++t.counts[kUnlock];
    return Tag::kChanged;
  }

  // [LOCKSET TL]: TL is held by the accesses of a transaction and released with it.
  Tag OnCommitBegin(Thread& t, const Footprint*, size_t) {
    ++t.counts[kCommit];
    return Tag::kKept;
  }
  Tag OnCommitEnd(Thread&, const Footprint*, size_t) { return Tag::kChanged; }

  // ---- Accesses: Eraser's states ----

  ByteMask OnAccess(Thread& t, Cell& cell, const Access& access, RaceRecord& record) {
    if (IsAtomic(access.kind)) {
      ++t.counts[kAtomic];
      return kNoBytes;
    }
    const SeenAccess mine{.thread = t.tid,
                          .context = access.context,
                          .locks = t.held.id(),
                          .kind = access.kind,
                          .origin = access.origin,
                          .seen = true};
    const LocksetId locks = t.counted.For(mine.locks, access.kind, access.origin);
    ByteMask raced = kNoBytes;
    ScopedLock guard(cell.lock);
    cell.variables.Visit(arena_, access.bytes, [&](ByteMask bytes, Variable& v) {
      if (Step(t, v, mine, locks)) {
        if (!Any(raced)) record.Begin(access, mine.Record(access.bytes));
        raced = raced | bytes;
        NameOthers(v, mine, bytes, record);
        v = Variable{.phase = Phase::kReported};
      } else if (v.phase != Phase::kReported) {
        (IsWrite(mine.kind) ? v.writes : v.reads).Note(mine);
      }
    });
    return raced;
  }

  // ---- Lifetimes: [ER virgin] ----

  Stamp OnLifetime(Thread& t, Addr, uint64_t, AccessOrigin, ContextId) {
    ++t.counts[kLifetime];
    return Stamp{};
  }
  void Revive(Cell& cell, ByteMask bytes, const Stamp&) {
    ScopedLock guard(cell.lock);
    cell.variables.Forget(arena_, bytes);
  }
  void Forget(Cell& cell) { cell.variables.Forget(arena_, kAllBytes); }
  void Forget(Cell& cell, ByteMask bytes) { Revive(cell, bytes, Stamp{}); }

  // ---- Reports and tests ----

  LocksetTable<Mem>& locksets() { return locksets_; }
  const Arena<Mem>& arena() const { return arena_; }

 private:
  static Tag NoOrder(Thread& t) {
    ++t.counts[kOrder];
    return Tag::kKept;
  }

  // Moves v as the access `mine` with these locks moves it. Is v written without protection now?
  bool Step(Thread& t, Variable& v, const SeenAccess& mine, LocksetId locks) {
    const bool writes = IsWrite(mine.kind);
    switch (v.phase) {
      case Phase::kVirgin:  // [ER first]
        ++t.counts[kFirst];
        v.phase = Phase::kExclusive;
        v.owner = t.tid;
        return false;
      case Phase::kExclusive:
        if (v.owner == t.tid) {  // [ER own]
          ++t.counts[kOwn];
          return false;
        }
        if (mine.origin == AccessOrigin::kFree) return Freed(t);
        // [ER share]: C(v) begins as the set of all locks.
        ++t.counts[writes ? kShareModified : kShare];
        v.candidates = locks;
        v.phase = writes ? Phase::kSharedModified : Phase::kShared;
        break;
      case Phase::kShared:  // [ER shared], [ER modify]
        if (mine.origin != AccessOrigin::kFree) v.candidates = locksets_.Intersect(v.candidates, locks);
        ++t.counts[writes ? kModify : kSharedRead];
        if (writes) v.phase = Phase::kSharedModified;
        break;
      case Phase::kSharedModified:  // [ER modified]
        if (mine.origin == AccessOrigin::kFree) return Freed(t);
        ++t.counts[kModified];
        v.candidates = locksets_.Intersect(v.candidates, locks);
        break;
      case Phase::kReported:  // [TS 4.2 ignore]
        ++t.counts[kIgnored];
        return false;
    }
    // [ER report]
    if (v.phase != Phase::kSharedModified || v.candidates != kEmptyLockset) return false;
    ++t.counts[kRace];
    return true;
  }

  // [LOCKSET free]: a free writes, but is not asked for locks.
  static bool Freed(Thread& t) {
    ++t.counts[kFreed];
    return false;
  }

  // Accesses that conflict with `mine` if there are any; else the last read of another thread, which shares the guilt.
  static void NameOthers(const Variable& v, const SeenAccess& mine, ByteMask bytes, RaceRecord& record) {
    const SeenAccess* write = v.writes.NotBy(mine.thread);
    const SeenAccess* read = v.reads.NotBy(mine.thread);
    if (write != nullptr) record.AddEarlier(write->Record(bytes));
    if (read != nullptr && (write == nullptr || IsWrite(mine.kind))) record.AddEarlier(read->Record(bytes));
  }

  Arena<Mem> arena_;  // first: everything below lives in it
  LocksetTable<Mem> locksets_;
  EventLocksets<Mem> modes_;
};

}  // namespace redflag
