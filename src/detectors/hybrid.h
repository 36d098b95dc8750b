// hybrid: happens-before and locksets (ThreadSanitizer 4.1-4.3). Locks order nothing; two conflicting accesses race if no
// signal, fork, join or atomic orders them and they have no lock in common. Finds races that this run ordered by accident,
// at the price of false alarms where order is made by means it doesn't see (6.4). docs/algorithms/hybrid.md.
//
// Notation
//   Seg          epoch and held        t's current segment: its place in the order and its locks
//   SS_Wr(x)     Cell::history         entries that write: the writer segment set
//   SS_Rd(x)     Cell::history         entries that read: the reader segment set
//   LS_Wr, LS_Rd event_locks_.For()    the lock set of an event, from all locks held at it
//   S <= Seg     clock.Knows(S.epoch)  S happens before, or is, the current segment
//   racy(x)      Cell::racy            bytes whose race was reported; ignored from then on
//
// The same class, with `kFast`, is the fast mode (4.4.2): detectors/fast.h.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "base/hash_map.h"
#include "clocks/commit_clocks.h"
#include "clocks/event_locksets.h"
#include "clocks/history_entry.h"
#include "clocks/lockset.h"
#include "clocks/segment_history.h"
#include "clocks/sync_clocks.h"
#include "clocks/thread_slots.h"
#include "detectors/detector.h"

namespace redflag {

struct HybridOptions {
  uint32_t segment_set_limit = 4;  // 6.1; 0: no limit
};

template <class Mem, bool kFast>
class HybridCore {
 public:
  static constexpr Map kMap = Map::kGranule;
  static constexpr Filter kFilter = Filter::kOwnSlot;
  static constexpr AfterRace kAfterRace = AfterRace::kIgnoreByte;
  static constexpr bool kReports = true;

  // Ids of one line share the thread that touched it first (4.4.2: "each cache line contains 64 IDs").
  static constexpr uint64_t kLineBytes = 64;

  enum Rule : uint8_t {
    kUnshared,
    kSameSegment,
    kIgnored,
    kRead,
    kWrite,
    kAtomicRead,
    kAtomicWrite,
    kLocked,
    kEvicted,
    kRace,
    kLock,
    kUnlock,
    kPureHbLock,
    kSignal,
    kWait,
    kFence,
    kFork,
    kJoin,
    kEnd,
    kCommit,
    kLifetime,
    kRuleCount,
  };
  static constexpr RuleInfo kRules[kRuleCount] = {
      {"line not shared", "[TS 4.4.2]"},
      {"same segment", "[TS 4.3]"},
      {"ignored after race", "[TS 4.2 ignore]"},
      {"read", "[TS 4.2 l.9]"},
      {"write", "[TS 4.2 l.6-7]"},
      {"atomic read", "[HY atomic]"},
      {"atomic write", "[HY atomic]"},
      {"saved by a lock", "[TS 4.2 IS-RACE l.11,16]"},
      {"pushed out by limit", "[TS 6.1]"},
      {"race", "[TS 4.2 IS-RACE]"},
      {"lock", "[TS 4.1 WRLOCK RDLOCK]"},
      {"unlock", "[TS 4.1 WRUNLOCK RDUNLOCK]"},
      {"pure-hb lock", "[TS 5 PURE_HAPPENS_BEFORE_MUTEX]"},
      {"signal", "[TS 4.1 SIGNAL]"},
      {"wait", "[TS 4.1 WAIT]"},
      {"fence", "[atomics.fences]"},
      {"fork", "[TS 4.1 SIGNAL]"},
      {"join", "[TS 4.1 WAIT]"},
      {"thread end", "[HY slots]"},
      {"commit", "[GL 3 commit]"},
      {"lifetime", "[GL Fig.5 rule 8]"},
  };

  struct Thread : ThreadBase<Mem> {
    Thread(HybridCore& d, Tid id) : ThreadBase<Mem>(d.arena_, d.locksets_, id), clock(d.arena_) {}
    ThreadClock<Mem> clock;
    uint64_t counts[kRuleCount] = {};
  };

  struct Sync : SyncClock<Mem> {
    explicit Sync(HybridCore& d) : SyncClock<Mem>(d.arena_) {}
    bool pure_hb = false;
  };

  struct Cell {
    SegmentHistory<Mem> history;
    [[no_unique_address]] typename Mem::Lock lock;
    ByteMask racy;
  };

  using Stamp = HistoryEntry;

  explicit HybridCore(const HybridOptions& options = {})
      : options_(options),
        locksets_(arena_),
        event_locks_(arena_, locksets_),
        slots_(arena_),
        commits_(arena_),
        lines_(arena_) {}

  // ---- Threads ----

  Tag OnStart(Thread& t) {
    t.clock.Start(slots_.Claim(t.tid, nullptr), nullptr);
    return Tag::kChanged;
  }
  Tag OnFork(Thread& parent, Thread& child) {
    ++parent.counts[kFork];
    child.clock.Start(slots_.Claim(child.tid, &parent.clock.clock()), &parent.clock.clock());
    parent.clock.Tick();
    return Tag::kChanged;
  }
  Tag OnJoin(Thread& t, Thread& child) {
    ++t.counts[kJoin];
    t.clock.Join(child.clock.clock());
    return Tag::kChanged;
  }
  Tag OnEnd(Thread& t) {
    ++t.counts[kEnd];
    t.clock.End();
    slots_.Retire(t.clock.epoch());
    return Tag::kChanged;
  }

  // ---- Locks: a new segment with another lock set, and no order ----

  Tag OnLock(Thread& t, Sync& s, LockMode mode) {
    ++t.counts[kLock];
    if (s.pure_hb) t.clock.Lock(s, mode);
    return Tag::kChanged;
  }
  Tag OnUnlock(Thread& t, Sync& s, LockMode mode) {
    ++t.counts[kUnlock];
    if (s.pure_hb) t.clock.Unlock(s, mode);
    return Tag::kChanged;
  }
  Tag OnPureHbLock(Thread& t, Sync& s) {
    ++t.counts[kPureHbLock];
    s.pure_hb = true;
    return Tag::kKept;
  }

  // ---- Happens-before events: signals, atomics, fences ----

  Tag OnAcquire(Thread& t, Sync& s) {
    ++t.counts[kWait];
    t.clock.Acquire(s);
    return Tag::kChanged;
  }
  Tag OnReleaseStore(Thread& t, Sync& s) {
    ++t.counts[kSignal];
    t.clock.ReleaseStore(s);
    return Tag::kChanged;
  }
  Tag OnReleaseMerge(Thread& t, Sync& s) {
    ++t.counts[kSignal];
    t.clock.ReleaseMerge(s);
    return Tag::kChanged;
  }
  Tag OnRelaxedLoad(Thread& t, Sync& s) {
    t.clock.RelaxedLoad(s);
    return Tag::kKept;
  }
  Tag OnRelaxedStore(Thread& t, Sync& s) {
    t.clock.RelaxedStore(s);
    return Tag::kKept;
  }
  Tag OnRelaxedMerge(Thread& t, Sync& s) {
    t.clock.RelaxedMerge(s);
    return Tag::kKept;
  }
  Tag OnAcquireFence(Thread& t) {
    ++t.counts[kFence];
    t.clock.AcquireFence();
    return Tag::kChanged;
  }
  Tag OnReleaseFence(Thread& t) {
    ++t.counts[kFence];
    t.clock.ReleaseFence();
    return Tag::kChanged;
  }

  Tag OnCommitBegin(Thread& t, const Footprint* footprint, size_t count) {
    ++t.counts[kCommit];
    commits_.Acquire(t.clock, footprint, count);
    return Tag::kChanged;
  }
  Tag OnCommitEnd(Thread& t, const Footprint* footprint, size_t count) {
    commits_.Release(t.clock, footprint, count);
    return Tag::kChanged;
  }

  // ---- Accesses: HANDLE-READ-OR-WRITE-EVENT ----

  ByteMask OnAccess(Thread& t, Cell& cell, const Access& access, RaceRecord& record) {
    if constexpr (kFast) {
      if (!IsShared(t, access)) {
        ++t.counts[kUnshared];
        return kNoBytes;
      }
    }
    HistoryEntry mine{.epoch = t.clock.epoch(),
                      .context = access.context,
                      .locks = t.held.id(),
                      .bytes = access.bytes,
                      .kind = access.kind,
                      .origin = access.origin};
    ScopedLock guard(cell.lock);
    mine.bytes = mine.bytes & ~cell.racy;  // [TS 4.2 ignore]
    if (!Any(mine.bytes)) {
      ++t.counts[kIgnored];
      return kNoBytes;
    }
    mine.bytes = cell.history.NewBytes(mine);  // [TS 4.3]
    if (!Any(mine.bytes)) {
      ++t.counts[kSameSegment];
      return kNoBytes;
    }

    const ByteMask raced = FindRaces(t, cell, mine);
    if (Any(raced)) {
      Report(t, cell, access, mine, raced, record);
      cell.racy = cell.racy | raced;
      cell.history.Forget(arena_, raced);
      mine.bytes = mine.bytes & ~raced;
    }
    if (Any(mine.bytes)) {
      ++t.counts[RuleOf(access.kind)];
      t.counts[kEvicted] += cell.history.Record(arena_, t.clock, mine, options_.segment_set_limit);
    }
    return raced;
  }

  // ---- Lifetimes ----

  Stamp OnLifetime(Thread& t, Addr addr, uint64_t size, AccessOrigin origin, ContextId context) {
    ++t.counts[kLifetime];
    commits_.Forget(addr, size);
    if constexpr (kFast) ForgetLines(addr, size);
    return Stamp{.epoch = t.clock.epoch(),
                 .context = context,
                 .locks = t.held.id(),
                 .bytes = kAllBytes,
                 .kind = AccessKind::kWrite,
                 .origin = origin};
  }

  void Revive(Cell& cell, ByteMask bytes, const Stamp& stamp) {
    ScopedLock guard(cell.lock);
    cell.history.Forget(arena_, bytes);
    cell.racy = cell.racy & ~bytes;
    if constexpr (!kFast) {  // the first thread's accesses are ignored in fast mode, and the allocation is one of them
      HistoryEntry first = stamp;
      first.bytes = bytes;
      cell.history.Remember(arena_, first);
    }
  }

  void Forget(Cell& cell) { cell.history.Forget(arena_, kAllBytes); }

  LocksetTable<Mem>& locksets() { return locksets_; }
  const Arena<Mem>& arena() const { return arena_; }

 private:
  struct Line {
    Tid first;
    bool touched;
    bool shared;
  };

  static constexpr Rule RuleOf(AccessKind kind) {
    constexpr Rule kByKind[] = {kAtomicRead, kRead, kAtomicWrite, kWrite};
    return kByKind[Raw(kind)];
  }

  // [TS 4.2 IS-RACE]: pairs of older segments were checked when the younger came, so only pairs with the current one are
  // left. Lock sets are intersected here and not earlier (4.5).
  ByteMask FindRaces(Thread& t, const Cell& cell, const HistoryEntry& mine) {
    ByteMask raced = kNoBytes;
    cell.history.ForEachUnordered(t.clock, mine, [&](const HistoryEntry& other) {
      if (event_locks_.Common(other.locks, other.kind, mine.locks, mine.kind)) {
        ++t.counts[kLocked];
      } else {
        raced = raced | (other.bytes & mine.bytes);
      }
    });
    return raced;
  }

  // [TS 4.2 REPORT-RACE]: all concurrent accesses, also those that have a lock in common with this one.
  void Report(Thread& t, const Cell& cell, const Access& access, const HistoryEntry& mine, ByteMask raced,
              RaceRecord& record) {
    ++t.counts[kRace];
    record.Begin(access, RecordOf(t.tid, mine, kAllBytes));
    cell.history.ForEachUnordered(t.clock, mine, [&](const HistoryEntry& other) {
      if (Any(other.bytes & raced)) record.AddEarlier(RecordOf(slots_.OwnerOf(other.epoch), other, raced));
    });
  }

  // [TS 4.4.2]: "we ignore all accesses to a cache line until we see an access from another thread".
  bool IsShared(Thread& t, const Access& access) {
    ScopedLock guard(lines_lock_);
    const uint64_t first = Raw(access.granule) / kLineBytes;
    const uint64_t last = (Raw(access.granule) + access.granules * kGranule - 1) / kLineBytes;
    bool shared = TouchLine(t.tid, first);
    if (last != first) shared |= TouchLine(t.tid, last);  // lines in between begin a new life at once
    return shared;
  }
  bool TouchLine(Tid tid, uint64_t number) {
    Line& line = lines_.Insert(number);
    if (!line.touched) line = Line{.first = tid, .touched = true, .shared = false};
    line.shared |= line.first != tid;
    return line.shared;
  }

  // Lines that lie wholly in the range are as if never touched.
  void ForgetLines(Addr addr, uint64_t size) {
    ScopedLock guard(lines_lock_);
    const uint64_t first = (Raw(addr) + kLineBytes - 1) / kLineBytes;
    const uint64_t end = Raw(addr + size) / kLineBytes;
    if (first >= end) return;
    if (end - first <= lines_.size()) {
      for (uint64_t number = first; number < end; ++number) lines_.Erase(number);
      return;
    }
    Vector<uint64_t, Mem> inside(arena_);
    lines_.ForEach([&](uint64_t number, Line&) {
      if (number >= first && number < end) inside.Push(number);
    });
    for (const uint64_t number : inside) lines_.Erase(number);
  }

  HybridOptions options_;
  Arena<Mem> arena_;  // before everything that lives in it
  LocksetTable<Mem> locksets_;
  EventLocksets<Mem> event_locks_;
  ThreadSlots<Mem> slots_;
  CommitClocks<Mem> commits_;
  typename Mem::Lock lines_lock_;
  HashMap<Line, Mem> lines_;  // kFast: by line number
};

template <class Mem>
class Hybrid : public HybridCore<Mem, false> {
 public:
  using HybridCore<Mem, false>::HybridCore;
  static constexpr const char* kName = "hybrid";
  static constexpr const char* kSummary = "happens-before and locksets: races this run hid, and some false alarms";
  static constexpr const char* kWhyMore =
      "takes no order from locks: what a lock ordered in this run may come the other way in the next [TS 4.4.1]";
  static constexpr const char* kWhyLess = "remembers 4 writers and 4 readers a byte; the first was pushed out [TS 6.1]";
};

}  // namespace redflag
