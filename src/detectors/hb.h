// hb: precise happens-before. Two conflicting accesses race if neither is ordered before the other by the program's
// synchronization in this run. No false alarms; every byte's first race is found, whatever the number of threads.
// ThreadSanitizer 4.4.1 ("pure happens-before state machine"), made exact and cheap; docs/algorithms/hb.md.
//
// Notation
//   C_t        Thread::clock           what t knows; touched by t only
//   epoch      Thread::clock.epoch()   t's slot and time: the label of its accesses; advances with every release
//   SS_Wr(x)   Cell                    kinds kWrite and kAtomicWrite: the paper's writer segment set, of single accesses
//   SS_Rd(x)   Cell                    kinds kRead and kAtomicRead: the paper's reader segment set
//   M_s, X_s   Sync                    what s hands on (clocks/sync_clocks.h); touched under the engine's lock of s
//   a <= t     clock.Knows(a)          access a is ordered before t's next action
//   LS_t       Thread::held            not used to decide; carried into records so that reports can name the locks
//   racy(x)    Cell                    bytes whose first race was reported; touched under the lock of the cell
//
// Each rule carries its tag and a counter.
#pragma once

#include <cstdint>

#include "clocks/exact_cell.h"
#include "clocks/history_entry.h"
#include "clocks/sync_clocks.h"
#include "detectors/detector.h"
#include "detectors/labelled.h"

namespace redflag {

template <class Mem, template <class> class CellOf = ExactCell>
class Hb : public Labelled<Mem, CellOf> {
  using Base = Labelled<Mem, CellOf>;

 protected:
  using Base::arena_, Base::cell_arena_, Base::locksets_, Base::slots_, Base::commits_;

 public:
  using typename Base::Cell, typename Base::OpenedCell, typename Base::Stamp;
  static constexpr const char* kName = "hb";
  static constexpr const char* kSummary = "precise happens-before: every race of this run, no false alarms";
  static constexpr const char* kWhyMore = "";
  static constexpr const char* kWhyLess = "";
  static constexpr Map kMap = Map::kGranule;
  static constexpr Filter kFilter = Filter::kOwnSlot;
  static constexpr AfterRace kAfterRace = AfterRace::kIgnoreByte;
  static constexpr bool kReports = true;
  static constexpr Claim kClaim = Claim::kUnordered;
  static constexpr bool kCanRefuse = true;
  static constexpr bool kNeedsNoLocks = true;  // HeldLocks may stay empty: then records name none

  enum Rule : uint8_t {
    kSameEpoch,
    kIgnored,
    kRead,
    kWrite,
    kAtomicRead,
    kAtomicWrite,
    kSpread,
    kRace,
    kLock,
    kRdLock,
    kUnlock,
    kRdUnlock,
    kAcquire,
    kReleaseStore,
    kReleaseMerge,
    kRelaxedLoad,
    kRelaxedStore,
    kRelaxedMerge,
    kAcquireFence,
    kReleaseFence,
    kFork,
    kJoin,
    kEnd,
    kCommit,
    kLifetime,
    kRuleCount,
    kMostRules = kRuleCount + 4,  // with those of a detector that is made of this one
  };
  static constexpr RuleInfo kRules[kRuleCount] = {
      {"same epoch", "[HB same epoch]"},
      {"ignored after race", "[TS 4.2 ignore]"},
      {"read", "[TS 4.2 l.9]"},
      {"write", "[TS 4.2 l.6-7]"},
      {"atomic read", "[HB atomic]"},
      {"atomic write", "[HB atomic]"},
      {"kept per slot", "[HB spread]"},
      {"race", "[TS 4.1 race]"},
      {"lock", "[TS 4.4.1 arc 1,3]"},
      {"read lock", "[TS 4.4.1 arc 2]"},
      {"unlock", "[TS 4.4.1 arc 1,2]"},
      {"read unlock", "[TS 4.4.1 arc 3]"},
      {"acquire", "[TS 4.1 WAIT] [atomics.order]/2"},
      {"release store", "[atomics.order]/2"},
      {"release merge", "[TS 4.1 SIGNAL] [intro.races]/5"},
      {"relaxed load", "[atomics.fences]/2,4"},
      {"relaxed store", "[atomics.fences]/2,3"},
      {"relaxed merge", "[atomics.fences]/2,3"},
      {"acquire fence", "[atomics.fences]/2,4"},
      {"release fence", "[atomics.fences]/2,3"},
      {"fork", "[GL 3 fork]"},
      {"join", "[GL 3 join]"},
      {"thread end", "[HB slots]"},
      {"commit", "[GL 3 commit]"},
      {"lifetime", "[GL Fig.5 rule 8]"},
  };

  struct Thread : ThreadBase<Mem> {
    Thread(Hb& hb, Tid id) : ThreadBase<Mem>(hb.arena_, hb.locksets_, id), clock(hb.arena_, id, &hb.slots_) {}
    ThreadClock<Mem> clock;
    uint64_t counts[kMostRules] = {};
  };

  struct Sync : SyncClock<Mem> {
    explicit Sync(Hb& hb) : SyncClock<Mem>(hb.arena_) {}
  };

  // ---- Threads ----

  Tag OnStart(Thread& t) {
    t.clock.Start(slots_.Claim(t.tid, nullptr), nullptr);
    return Tag::kChanged;
  }

  // [GL 3 fork]: everything the parent did is ordered before everything the child does.
  Tag OnFork(Thread& parent, Thread& child) {
    ++parent.counts[kFork];
    child.clock.Start(slots_.Claim(child.tid, &parent.clock.clock()), &parent.clock.clock());
    parent.clock.Tick();
    return Tag::kChanged;
  }

  // [GL 3 join]: everything the child did is ordered before what follows.
  Tag OnJoin(Thread& t, Thread& child) {
    ++t.counts[kJoin];
    t.clock.JoinThread(child.clock);
    return Tag::kKept;
  }

  // [HB slots]: the slot may serve another thread, under the condition of thread_slots.h.
  Tag OnEnd(Thread& t) {
    ++t.counts[kEnd];
    t.clock.End();
    slots_.Retire(t.clock.epoch());
    return Tag::kChanged;
  }

  // ---- Locks: [TS 4.4.1] ----

  Tag OnLock(Thread& t, Sync& s, LockMode mode) {
    ++t.counts[mode == LockMode::kExclusive ? kLock : kRdLock];
    t.clock.Lock(s, mode);
    return Tag::kKept;
  }

  Tag OnUnlock(Thread& t, Sync& s, LockMode mode) {
    ++t.counts[mode == LockMode::kExclusive ? kUnlock : kRdUnlock];
    t.clock.Unlock(s, mode);
    return Tag::kChanged;
  }

  // Every lock is one.
  Tag OnPureHbLock(Thread&, Sync&) { return Tag::kKept; }

  // ---- Signals, atomics, fences: the steps of detectors/atomics.h ----

  Tag OnAcquire(Thread& t, Sync& s) {
    ++t.counts[kAcquire];
    t.clock.Acquire(s);
    return Tag::kKept;
  }
  // Does the object carry something, and would OnAcquire teach nothing of it? Asked without the object's lock, by an engine that finds out whether the object changed meanwhile.
  static bool KnowsCarried(const Thread& t, const Sync& s) {
    return s.carried_at() != kNoEpoch && t.clock.KnowsAll(s.carried_at());
  }
  Tag OnReleaseStore(Thread& t, Sync& s) {
    ++t.counts[kReleaseStore];
    t.clock.ReleaseStore(s);
    return Tag::kChanged;
  }
  Tag OnReleaseMerge(Thread& t, Sync& s) {
    ++t.counts[kReleaseMerge];
    t.clock.ReleaseMerge(s);
    return Tag::kChanged;
  }
  Tag OnRelaxedLoad(Thread& t, Sync& s) {
    ++t.counts[kRelaxedLoad];
    t.clock.RelaxedLoad(s);
    return Tag::kKept;
  }
  Tag OnRelaxedStore(Thread& t, Sync& s) {
    ++t.counts[kRelaxedStore];
    t.clock.RelaxedStore(s);
    return Tag::kKept;
  }
  Tag OnRelaxedMerge(Thread& t, Sync& s) {
    ++t.counts[kRelaxedMerge];
    t.clock.RelaxedMerge(s);
    return Tag::kKept;
  }
  Tag OnAcquireFence(Thread& t) {
    ++t.counts[kAcquireFence];
    t.clock.AcquireFence();
    return Tag::kKept;
  }
  Tag OnReleaseFence(Thread& t) {
    ++t.counts[kReleaseFence];
    t.clock.ReleaseFence();
    return Tag::kChanged;
  }

  // ---- Transactions: [GL 3 commit] ----

  // Before the first commit.
  void OrderByReads() { commits_.OrderByReads(); }

  // heard, made, joined: as CommitClocks wants them.
  template <class... Heard>
  Tag OnCommitBegin(Thread& t, const Footprint* footprint, size_t count, Heard... heard) {
    ++t.counts[kCommit];
    if (commits_.is_by_reads()) t.clock.Tick();  // it has a time of its own
    commits_.Acquire(t.clock, footprint, count, heard...);
    return commits_.is_by_reads() ? Tag::kChanged : Tag::kKept;
  }
  template <class... MadeAndJoined>
  Tag OnCommitEnd(Thread& t, const Footprint* footprint, size_t count, MadeAndJoined... made_and_joined) {
    commits_.Release(t.clock, footprint, count, !Base::NeedsRenewal(t), made_and_joined...);
    return Tag::kChanged;
  }

  // ---- Accesses ----

  ByteMask OnAccess(Thread& t, Cell& cell, const Access& access, RaceRecord& record) {
    HistoryEntry mine{.epoch = t.clock.epoch(),
                      .context = access.context,
                      .bytes = access.bytes,
                      .kind = access.kind,
                      .origin = access.origin};
    OpenedCell opened(cell);

    // [TS 4.2 ignore]
    if (Any(opened.racy())) {
      mine.bytes = mine.bytes & ~opened.racy();
      if (!Any(mine.bytes)) {
        ++t.counts[kIgnored];
        return kNoBytes;
      }
    }

    // [HB same epoch]
    using Finding = typename Cell::Finding;
    const Finding finding = opened.Examine(t.clock, mine);
    if (finding == Finding::kRedundant) {
      ++t.counts[kSameEpoch];
      return kNoBytes;
    }

    // [TS 4.1 race]: conflicting, and not ordered.
    if (Cell::kKeepsLocks || finding == Finding::kRaces) mine.locks = t.held.id();
    ByteMask raced = kNoBytes;
    if (finding == Finding::kRaces) {
      raced = Report(t, opened, access, mine, record);
      if (access.if_racy >= IfRacy::kRefused) return raced;
      if (access.if_racy == IfRacy::kReported || !IsWrite(mine.kind)) mine.bytes = mine.bytes & ~raced;
    }
    if (access.if_racy == IfRacy::kAsked) return kNoBytes;

    // [TS 4.2 l.6-9], [HB atomic]
    if (Any(mine.bytes)) {
      ++t.counts[RuleOf(access.kind)];
      if (access.origin == AccessOrigin::kTransaction && commits_.is_by_reads()) {
        // Who does not race with it may race with what its thread did before.
        opened.RecordBeside(cell_arena_, mine, [&](Epoch epoch) { return commits_.IsOfCommit(epoch); });
      } else {
        opened.Record(cell_arena_, t.clock, mine);
      }
      if (opened.is_spread()) ++t.counts[kSpread];
    }
    return raced;
  }

  // What most accesses come to, where cells know it at a glance. False: OnAccess() has to look.
  // mix(old, fresh, bytes): a context that stands for `fresh` where these bytes are concerned, and else for `old`; kNoContext
  // if there is no such thing. With it, accesses of one time to different bytes are one to a cell that has little room.
  template <class Label, class Mix>
  [[gnu::always_inline]] bool TakesShortcut(Thread& t, Cell& cell, Label mine, Mix mix, bool is_alone) {
    return cell.TakesShortcut(cell_arena_, t.clock, mine, mix, is_alone);
  }
  // So many more accesses were recorded without OnAccess(); how many there were.
  [[gnu::always_inline]] static uint64_t Count(Thread& t, AccessKind kind, uint64_t more = 1) {
    return t.counts[RuleOf(kind)] += more;
  }
  static void CountRace(Thread& t) { ++t.counts[kRace]; }

  // ---- Lifetimes: [GL Fig.5 rule 8], with the allocation itself as the first write ----

  Stamp OnLifetime(Thread& t, Addr addr, uint64_t size, AccessOrigin origin, ContextId context) {
    ++t.counts[kLifetime];
    return Base::StampOf(t, addr, size, origin, context);
  }

  // What cells compare with.
  static const ThreadClock<Mem>& ClockOf(const Thread& t) { return t.clock; }

 private:
  static constexpr Rule RuleOf(AccessKind kind) {
    constexpr Rule kByKind[] = {kAtomicRead, kRead, kAtomicWrite, kWrite};
    return kByKind[Raw(kind)];
  }

  // Two commits that conflict are ordered, or don't have to be (by reads): [GL 3 extended race]
  bool AreBothCommits(const Access& access, const HistoryEntry& earlier) {
    return commits_.is_by_reads() && access.origin == AccessOrigin::kTransaction && commits_.IsOfCommit(earlier.epoch);
  }

  // Fills the record, and ends the history of the racy bytes, if the access is to happen.
  [[gnu::noinline]] ByteMask Report(Thread& t, OpenedCell& cell, const Access& access, const HistoryEntry& mine,
                                    RaceRecord& record) {
    ByteMask raced = kNoBytes;
    record.Begin(access, RecordOf(t.tid, mine, kAllBytes));
    cell.ForEachRace(t.clock, mine, [&](const HistoryEntry& earlier) {
      if (AreBothCommits(access, earlier)) return;
      raced = raced | (earlier.bytes & mine.bytes);
      record.AddEarlier(RecordOf(slots_.OwnerOf(earlier.epoch), earlier, mine.bytes));
    });
    if (!Any(raced)) return raced;
    ++t.counts[kRace];
    if (access.if_racy == IfRacy::kReported) cell.AddRacy(cell_arena_, raced);
    if (access.if_racy == IfRacy::kGoesOn && IsWrite(mine.kind)) cell.Clear(cell_arena_, raced);
    return raced;
  }
};

}  // namespace redflag
