// hybrid: happens-before and locksets (ThreadSanitizer 4.1-4.3). Locks order nothing; two conflicting accesses race if no
// signal, fork, join or atomic orders them and they have no lock in common. Finds races that this run ordered by accident,
// at the price of false alarms where order is made by means it doesn't see (6.4). docs/algorithms/hybrid.md.
//
// Notation
//   Seg          epoch and held        t's current segment: its place in the order and its locks
//   SS_Wr(x)     Cell                  entries that write: the writer segment set
//   SS_Rd(x)     Cell                  entries that read: the reader segment set
//   LS_Wr, LS_Rd LocksetTable::HaveCommon  of all locks held at an event those that count for it: for a write the ones held for writing
//   S <= Seg     clock.Knows(S.epoch)  S happens before, or is, the current segment
//   racy(x)      Cell                  bytes whose race was reported; ignored from then on
//
// Where cells keep no locks (clocks/packed_cell.h) every segment has a time of its own, and a table says which locks were held in it
// (clocks/segment_times.h, segment_locks.h). There a cell has room for the last segments of every thread, and 6.1's limit is not needed.
//
// The same class, with `kFast`, is the fast mode (4.4.2): detectors/fast.h.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/hash_map.h"
#include "clocks/exact_cell.h"
#include "clocks/history_entry.h"
#include "clocks/lockset.h"
#include "clocks/segment_locks.h"
#include "clocks/segment_times.h"
#include "clocks/sync_clocks.h"
#include "detectors/detector.h"
#include "detectors/labelled.h"

namespace redflag {

struct HybridOptions {
  uint32_t segment_set_limit = 4;  // 6.1; 0: no limit
};

template <class Mem, bool kFast, template <class> class CellOf>
class HybridCore : public Labelled<Mem, CellOf> {
  using Base = Labelled<Mem, CellOf>;
  using Base::arena_, Base::cell_arena_, Base::locksets_, Base::slots_, Base::commits_;

 public:
  using typename Base::Cell, typename Base::OpenedCell, typename Base::Stamp;
  static constexpr Map kMap = Map::kGranule;
  static constexpr Filter kFilter = Filter::kOwnSlot;
  static constexpr AfterRace kAfterRace = AfterRace::kIgnoreByte;
  static constexpr bool kReports = true;
  static constexpr Claim kClaim = Claim::kUnorderedButByLocks;

  // In a running program the engine has a place for each line (runtime/memory_line.h): accesses to those that are not shared don't come here.
  static constexpr bool kEngineKnowsLines = kFast && !Cell::kKeepsLocks;

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
    Thread(HybridCore& d, Tid id)
        : ThreadBase<Mem>(d.arena_, d.locksets_, id), detector(d), clock(d.arena_, id, &d.slots_), times(d.arena_) {}
    HybridCore& detector;
    ThreadClock<Mem> clock;
    uint64_t counts[kRuleCount] = {};

    // Whether accesses with these sets of locks have one in common, as last asked.
    struct Answer {
      HeldSet theirs;
      HeldSet mine;
      bool they_write;
      bool i_write;
      bool common;
    };
    static constexpr uint32_t kAnswers = 256;
    Answer answers[kAnswers] = {};

    SegmentTimes<Mem> times;  // where segments have times
  };

  struct Sync : SyncClock<Mem> {
    explicit Sync(HybridCore& d) : SyncClock<Mem>(d.arena_) {}
    bool pure_hb = false;
  };

  explicit HybridCore(const HybridOptions& options = {}) : options_(options), lines_(arena_) {}

  // ---- Threads ----

  Tag OnStart(Thread& t) {
    t.clock.Start(slots_.Claim(t.tid, nullptr), nullptr);
    return NewSegment(t);
  }
  Tag OnFork(Thread& parent, Thread& child) {
    ++parent.counts[kFork];
    Settle(parent);
    child.clock.Start(slots_.Claim(child.tid, &parent.clock.clock()), &parent.clock.clock());
    parent.clock.Tick();
    NewSegment(child);
    return NewSegment(parent);
  }
  Tag OnJoin(Thread& t, Thread& child) {
    ++t.counts[kJoin];
    t.clock.JoinThread(child.clock);
    return Tag::kChanged;
  }
  Tag OnEnd(Thread& t) {
    ++t.counts[kEnd];
    Settle(t);
    t.clock.End();
    slots_.Retire(t.clock.epoch());
    return Tag::kChanged;
  }

  // ---- Locks: a new segment with another lock set, and no order ----

  Tag OnLock(Thread& t, Sync& s, LockMode mode) {
    ++t.counts[kLock];
    if (s.pure_hb) t.clock.Lock(s, mode);
    return OtherLocks(t);
  }
  Tag OnUnlock(Thread& t, Sync& s, LockMode mode) {
    ++t.counts[kUnlock];
    if (!s.pure_hb) return OtherLocks(t);
    Settle(t);
    t.clock.Unlock(s, mode);
    return NewSegment(t);
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
    Settle(t);
    t.clock.ReleaseStore(s);
    return NewSegment(t);
  }
  Tag OnReleaseMerge(Thread& t, Sync& s) {
    ++t.counts[kSignal];
    Settle(t);
    t.clock.ReleaseMerge(s);
    return NewSegment(t);
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
    Settle(t);
    t.clock.ReleaseFence();
    return NewSegment(t);
  }

  Tag OnCommitBegin(Thread& t, const Footprint* footprint, size_t count) {
    ++t.counts[kCommit];
    commits_.Acquire(t.clock, footprint, count);
    return Tag::kChanged;
  }
  Tag OnCommitEnd(Thread& t, const Footprint* footprint, size_t count) {
    Settle(t);
    commits_.Release(t.clock, footprint, count);
    return NewSegment(t);
  }

  // ---- Accesses: HANDLE-READ-OR-WRITE-EVENT ----

  ByteMask OnAccess(Thread& t, Cell& cell, const Access& access, RaceRecord& record) {
    if constexpr (kFast && !kEngineKnowsLines) {
      if (!IsShared(t, access)) {
        ++t.counts[kUnshared];
        return kNoBytes;
      }
    }
    HistoryEntry mine{.epoch = t.clock.epoch(),
                      .context = access.context,
                      .locks = Cell::kKeepsLocks ? t.held.id() : kEmptyLockset,
                      .bytes = access.bytes,
                      .kind = access.kind,
                      .origin = access.origin};
    OpenedCell opened(cell);
    mine.bytes = mine.bytes & ~opened.racy();  // [TS 4.2 ignore]
    if (!Any(mine.bytes)) {
      ++t.counts[kIgnored];
      return kNoBytes;
    }
    mine.bytes = opened.NewBytes(mine);  // [TS 4.3]
    if (!Any(mine.bytes)) {
      ++t.counts[kSameSegment];
      return kNoBytes;
    }

    const ByteMask raced = FindRaces(t, opened, mine);
    if (Any(raced)) {
      Report(t, opened, access, mine, raced, record);
      opened.AddRacy(cell_arena_, raced);
      mine.bytes = mine.bytes & ~raced;
    }
    if (Any(mine.bytes)) {
      ++t.counts[RuleOf(access.kind)];
      t.counts[kEvicted] += opened.RecordSegment(cell_arena_, t.clock, mine, options_.segment_set_limit);
    }
    return raced;
  }

  // What cells compare with: the order, and what locks keep apart.
  class SegmentClock {
   public:
    explicit SegmentClock(Thread& t) : t_(t) {}
    bool Knows(Slot slot, Time time) const { return t_.clock.Knows(slot, time); }
    // Have the two accesses, of which the second is this thread's, a lock in common?
    template <class Label>
    bool KeepsApart(Label entry, Label mine) const {
      return t_.detector.KeepApart(t_, entry.epoch(), entry.kind(), mine.kind());
    }

   private:
    Thread& t_;
  };
  static SegmentClock ClockOf(Thread& t) { return SegmentClock(t); }

  // As of Hb.
  template <class Label, class Mix>
  [[gnu::always_inline]] bool TakesShortcut(Thread& t, Cell& cell, Label mine, Mix mix, bool is_alone) {
    return cell.TakesShortcut(cell_arena_, ClockOf(t), mine, mix, is_alone);
  }
  [[gnu::always_inline]] static uint64_t Count(Thread& t, AccessKind kind, uint64_t more = 1) {
    return t.counts[RuleOf(kind)] += more;
  }
  static void CountRace(Thread& t) { ++t.counts[kRace]; }
  // Times tell nothing of what came first: they go up and down.
  template <class Label>
  void TakeIn(Cell& cell, Label read) {
    OpenedCell(cell).TakeInLatest(cell_arena_, read);
  }

  // ---- Lifetimes ----

  Stamp OnLifetime(Thread& t, Addr addr, uint64_t size, AccessOrigin origin, ContextId context) {
    ++t.counts[kLifetime];
    if constexpr (kFast && !kEngineKnowsLines) ForgetLines(addr, size);
    return Base::StampOf(t, addr, size, origin, context);
  }

  // The first thread's accesses are ignored in fast mode, and the allocation is one of them.
  void Revive(Cell& cell, ByteMask bytes, const Stamp& stamp) {
    if constexpr (kFast) {
      Base::Forget(cell, bytes);
    } else {
      Base::Revive(cell, bytes, stamp);
    }
  }

  // ---- Few times and slots: as of every labelled detector, with the locks of the segments ----

  bool NeedsRenewal(const Thread& t) const {
    return Cell::kKeepsLocks ? Base::NeedsRenewal(t) : slots_.IsUsedUp(t.times.latest());
  }
  void Renew(Thread& t) {
    Settle(t);
    Base::Renew(t);
    NewSegment(t);
  }
  void BeginEra() {
    Base::BeginEra();
    if constexpr (!Cell::kKeepsLocks) segments_.Clear();
  }
  void Restart(Thread& t) {
    Base::Restart(t);
    NewSegment(t);
  }

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

  // The thread hands on what it knows, its latest segment included ...
  void Settle(Thread& t) {
    if constexpr (!Cell::kKeepsLocks) t.clock.GoTo(t.times.latest());
  }
  // ... and is in another place of the order.
  Tag NewSegment(Thread& t) {
    if constexpr (!Cell::kKeepsLocks) {
      t.times.Begin(TimeOf(t.clock.epoch()), t.held.set());
      segments_.Set(t.clock.epoch(), t.held.set());
    }
    return Tag::kChanged;
  }
  // In the same place, with the locks that are held now.
  Tag OtherLocks(Thread& t) {
    if constexpr (!Cell::kKeepsLocks) {
      bool is_new;
      const HeldSet held = t.held.set();
      t.clock.GoTo(t.times.GoTo(held, is_new));
      if (is_new) segments_.Set(t.clock.epoch(), held);
    }
    return Tag::kChanged;
  }

  // Do locks keep the accesses apart, of which the second is this thread's?
  bool KeepApart(Thread& t, const HistoryEntry& theirs, const HistoryEntry& mine) {
    if constexpr (Cell::kKeepsLocks) {
      return HaveCommonLock(t, HeldSet::Named(theirs.locks), IsWrite(theirs.kind), HeldSet::Named(mine.locks),
                            IsWrite(mine.kind));
    } else {
      return KeepApart(t, theirs.epoch, theirs.kind, mine.kind);
    }
  }
  // Of a segment whose slot is shared by several threads nobody knows which it held.
  bool KeepApart(Thread& t, Epoch theirs, AccessKind their_kind, AccessKind my_kind) {
    if (slots_.IsShared(SlotOf(theirs))) return true;
    const HeldSet held = segments_.Of(theirs);
    const HeldSet mine = t.held.set();
    if (held.is_listed() && mine.is_listed()) [[likely]] {
      return HeldSet::HaveCommon(held, IsWrite(their_kind), mine, IsWrite(my_kind));
    }
    return HaveCommonLock(t, held, IsWrite(their_kind), mine, IsWrite(my_kind));
  }

  // The answer is the same for ever, so that each thread remembers some, and threads don't meet at the table.
  bool HaveCommonLock(Thread& t, HeldSet theirs, bool they_write, HeldSet mine, bool i_write) {
    if (theirs.is_empty() || mine.is_empty()) return false;
    typename Thread::Answer& answer = t.answers[HashKey(theirs.raw() ^ HashKey(mine.raw())) % Thread::kAnswers];
    if (answer.theirs != theirs || answer.mine != mine || answer.they_write != they_write ||
        answer.i_write != i_write) {
      answer = {.theirs = theirs,
                .mine = mine,
                .they_write = they_write,
                .i_write = i_write,
                .common = locksets_.HaveCommon(theirs, they_write, mine, i_write)};
    }
    return answer.common;
  }

  // [TS 4.2 IS-RACE]: pairs of older segments were checked when the younger came, so only pairs with the current one are
  // left. Lock sets are intersected here and not earlier (4.5).
  ByteMask FindRaces(Thread& t, const OpenedCell& cell, const HistoryEntry& mine) {
    ByteMask raced = kNoBytes;
    cell.ForEachUnordered(t.clock, mine, [&](const HistoryEntry& other) {
      if (KeepApart(t, other, mine)) {
        ++t.counts[kLocked];
      } else {
        raced = raced | (other.bytes & mine.bytes);
      }
    });
    return raced;
  }

  // [TS 4.2 REPORT-RACE]: all concurrent accesses, also those that have a lock in common with this one.
  void Report(Thread& t, const OpenedCell& cell, const Access& access, const HistoryEntry& mine, ByteMask raced,
              RaceRecord& record) {
    ++t.counts[kRace];
    record.Begin(access, RecordOf(t.tid, mine, kAllBytes));
    cell.ForEachUnordered(t.clock, mine, [&](const HistoryEntry& other) {
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

  struct NoSegments {};
  HybridOptions options_;
  [[no_unique_address]] std::conditional_t<Cell::kKeepsLocks, NoSegments,
                                           SegmentLocks<Cell::kSlots, Cell::kKeepsLocks ? 1 : Cell::kTimes>> segments_;
  typename Mem::Lock lines_lock_;
  HashMap<Line, Mem> lines_;  // kFast: by line number
};

template <class Mem, template <class> class CellOf = SegmentCell>
class Hybrid : public HybridCore<Mem, false, CellOf> {
 public:
  using HybridCore<Mem, false, CellOf>::HybridCore;
  static constexpr const char* kName = "hybrid";
  static constexpr const char* kSummary = "happens-before and locksets: races this run hid, and some false alarms";
  static constexpr const char* kWhyMore =
      "takes no order from locks: what a lock ordered in this run may come the other way in the next [TS 4.4.1]";
  static constexpr const char* kWhyLess = "remembers 4 writers and 4 readers a byte; the first was pushed out [TS 6.1]";
};

}  // namespace redflag
