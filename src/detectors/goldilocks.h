// goldilocks: precise locksets. For each byte, the set of everything whose holder may touch it next without a race: threads,
// locks, atomics, commits. Ownership moves through synchronization; an access by a thread that is not in the set is a race.
// No false alarms; every byte's first race is found. Elmas, Qadeer, Tasiran, "Goldilocks: A Race and Transaction-Aware Java
// Runtime", PLDI 2007 (GL); docs/algorithms/goldilocks.md.
//
// Notation
//   LS(x)          OwnerSet (clocks/ownership.h)   who owns x; evaluated lazily, under the lock of the ledger
//   head, tail     SyncEventList                   what has happened to locksets; likewise
//   Info           Cell::history                   one access: WriteInfo, ReadInfo(t), and the same for atomics
//   Info.owner, .alock, .ls, .pos                  its Ownership, shared by all accesses of t under the same locks
//   Info.xact      Info::origin                    whether it was made by a transaction
//   C_t F_t P_t    Thread::elements                t itself, its latest release fence, its relaxed loads
//   (o, v) (o, l)  Sync                            M_s: an atomic or signal; X_s, R_s: a lock (clocks/sync_elements.h)
//   R u W, TL      LastCommits                     K_c: the commit c that was the latest to touch the bytes
//   KL(x)          Cell::lock
//   racy(x)        Cell::racy                      bytes whose checks are off; under the lock of the cell
//
// Each rule carries its tag, here or in clocks/sync_elements.h, and a counter.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/arena.h"
#include "base/mem.h"
#include "clocks/commit_clocks.h"
#include "clocks/info_history.h"
#include "clocks/last_commits.h"
#include "clocks/lockset.h"
#include "clocks/ownership.h"
#include "clocks/sync_elements.h"
#include "clocks/sync_event_list.h"
#include "detectors/detector.h"
#include "detectors/race_owners.h"

namespace redflag {

template <class Mem, class Limits = EventListLimits>
class Goldilocks {
  using Ledger = OwnershipLedger<Mem, Limits>;
  using History = InfoHistory<Mem, Ledger>;
  using Info = typename History::Info;

 public:
  static constexpr const char* kName = "goldilocks";
  static constexpr const char* kSummary = "precise locksets, lazily evaluated: the races of hb, found another way";
  static constexpr const char* kWhyMore = "";
  static constexpr const char* kWhyLess = "";
  static constexpr Map kMap = Map::kGranule;
  static constexpr Filter kFilter = Filter::kOwnSlot;
  static constexpr AfterRace kAfterRace = AfterRace::kDisable;
  static constexpr bool kReports = true;
  static constexpr Claim kClaim = Claim::kUnordered;
  static constexpr bool kCanRefuse = true;

  enum Rule : uint8_t {
    kSameOwnership,
    kDisabled,
    kRead,
    kWrite,
    kAtomicRead,
    kAtomicWrite,
    kRace,
    kBothTransactions,
    kSameThread,
    kLockHeld,
    kFirstStep,  // those of the ledger, in its order
    kAlreadyOwner = kFirstStep,
    kTwoThreads,
    kFullWalk,
    kEventsWalked,
    kEager,
    kMerged,
    kTrimmed,
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
  };
  static_assert(int{kFirstStep} + int{kOwnershipStepCount} == int{kLock});
  static constexpr RuleInfo kRules[kRuleCount] = {
      {"same ownership", "[GL same ownership]"},
      {"ignored after race", "[GL 6 off]"},
      {"read", "[GL Fig.5 rule 1]"},
      {"write", "[GL Fig.5 rule 1]"},
      {"atomic read", "[GL Fig.5 rule 1]"},
      {"atomic write", "[GL Fig.5 rule 1]"},
      {"race", "[GL Fig.5 rule 1, race]"},
      {"short: both transactions", "[GL Fig.8 l.1]"},
      {"short: same thread", "[GL 5.1 first]"},
      {"short: lock held", "[GL 5.1 second]"},
      {"already an owner", "[GL 5 Apply-Lockset-Rules]"},
      {"short: events of two threads", "[GL 5.1 third]"},
      {"lockset evaluated", "[GL 5 Apply-Lockset-Rules]"},
      {"events walked", "[GL 5 Apply-Lockset-Rules]"},
      {"evaluated eagerly", "[GL 5.4 eager]"},
      {"locksets merged", "[GL 5.4 eager]"},
      {"blocks trimmed", "[GL 5.4 trim]"},
      {"lock", "[GL Fig.5 rule 4]"},
      {"read lock", "[GL Fig.5 rule 4]"},
      {"unlock", "[GL Fig.5 rule 5]"},
      {"read unlock", "[GL Fig.5 rule 5]"},
      {"acquire", "[GL Fig.5 rule 2]"},
      {"release store", "[GL Fig.5 rule 3]"},
      {"release merge", "[GL Fig.5 rule 3]"},
      {"relaxed load", "[GL atomics]"},
      {"relaxed store", "[GL atomics]"},
      {"relaxed merge", "[GL atomics]"},
      {"acquire fence", "[GL atomics]"},
      {"release fence", "[GL atomics]"},
      {"fork", "[GL Fig.5 rule 6]"},
      {"join", "[GL Fig.5 rule 7]"},
      {"thread end", "[GL Fig.8 terminate]"},
      {"commit", "[GL Fig.5 rule 9]"},
      {"lifetime", "[GL Fig.5 rule 8]"},
  };

  // Counts of work, not of what was found: who asks first has most of it.
  static constexpr bool IsEffort(size_t rule) { return rule >= kFirstStep && rule < kLock; }

  struct Thread : ThreadBase<Mem> {
    Thread(Goldilocks& d, Tid id)
        : ThreadBase<Mem>(d.arena_, d.locksets_, id), elements(d.arena_, d.ledger_, id, counts + kFirstStep) {}
    uint64_t counts[kRuleCount] = {};
    ThreadElements<Mem, Ledger> elements;
    RaceOwners owners_at_race;  // of the first of the earlier accesses
  };

  struct Sync : SyncElements<Ledger> {
    explicit Sync(Goldilocks& d) : SyncElements<Ledger>(d.ledger_) {}
  };

  struct Cell {
    History history;
    [[no_unique_address]] typename Mem::Lock lock;
    ByteMask racy;
  };

  // The write that began a lifetime.
  struct Stamp {
    typename Ledger::Birth birth;
    ContextId context;
    LocksetId locks;
    AccessOrigin origin;
  };

  Goldilocks() : locksets_(arena_), ledger_(arena_), commits_(arena_) {}

  // ---- Threads ----

  Tag OnStart(Thread&) { return Tag::kChanged; }

  Tag OnFork(Thread& parent, Thread& child) {
    ++parent.counts[kFork];
    parent.elements.Fork(child.elements);
    return Tag::kChanged;
  }

  Tag OnJoin(Thread& t, Thread& child) {
    ++t.counts[kJoin];
    t.elements.Join(child.elements);
    return Tag::kKept;
  }

  // [GL Fig.8 terminate]: no event; the elements of t go when the engine drops it.
  Tag OnEnd(Thread& t) {
    ++t.counts[kEnd];
    t.elements.End();
    return Tag::kChanged;
  }

  // ---- Locks ----

  Tag OnLock(Thread& t, Sync& s, LockMode mode) {
    ++t.counts[mode == LockMode::kExclusive ? kLock : kRdLock];
    t.elements.Lock(s, mode);
    return Tag::kKept;
  }

  Tag OnUnlock(Thread& t, Sync& s, LockMode mode) {
    ++t.counts[mode == LockMode::kExclusive ? kUnlock : kRdUnlock];
    t.elements.Unlock(s, mode);
    return Tag::kChanged;
  }

  // Every lock is one.
  Tag OnPureHbLock(Thread&, Sync&) { return Tag::kKept; }

  // ---- Signals, atomics, fences: the steps of detectors/atomics.h ----

  Tag OnAcquire(Thread& t, Sync& s) {
    ++t.counts[kAcquire];
    t.elements.Acquire(s);
    return Tag::kKept;
  }
  Tag OnReleaseStore(Thread& t, Sync& s) {
    ++t.counts[kReleaseStore];
    t.elements.ReleaseStore(s);
    return Tag::kChanged;
  }
  Tag OnReleaseMerge(Thread& t, Sync& s) {
    ++t.counts[kReleaseMerge];
    t.elements.ReleaseMerge(s);
    return Tag::kChanged;
  }
  Tag OnRelaxedLoad(Thread& t, Sync& s) {
    ++t.counts[kRelaxedLoad];
    t.elements.RelaxedLoad(s);
    return Tag::kKept;
  }
  Tag OnRelaxedStore(Thread& t, Sync& s) {
    ++t.counts[kRelaxedStore];
    t.elements.RelaxedStore(s);
    return Tag::kKept;
  }
  Tag OnRelaxedMerge(Thread& t, Sync& s) {
    ++t.counts[kRelaxedMerge];
    t.elements.RelaxedMerge(s);
    return Tag::kKept;
  }
  Tag OnAcquireFence(Thread& t) {
    ++t.counts[kAcquireFence];
    t.elements.AcquireFence();
    return Tag::kKept;
  }
  Tag OnReleaseFence(Thread& t) {
    ++t.counts[kReleaseFence];
    t.elements.ReleaseFence();
    return Tag::kChanged;
  }

  // ---- Transactions: [GL Fig.5 rule 9] ----

  // Before the first commit.
  void OrderByReads() { commits_.OrderByReads(); }

  Tag OnCommitBegin(Thread& t, const Footprint* footprint, size_t count) {
    ++t.counts[kCommit];
    t.elements.CommitBegin(commits_, footprint, count);
    return Tag::kKept;
  }
  Tag OnCommitEnd(Thread& t, const Footprint* footprint, size_t count) {
    t.elements.CommitEnd(commits_, footprint, count);
    return Tag::kChanged;
  }

  // ---- Accesses: [GL Fig.5 rule 1] ----

  ByteMask OnAccess(Thread& t, Cell& cell, const Access& access, RaceRecord& record) {
    Info mine{.ownership = t.elements.Current(t.held),
              .context = access.context,
              .bytes = access.bytes,
              .kind = access.kind,
              .origin = access.origin};
    ScopedLock guard(cell.lock);

    // [GL 6 off]
    if (Any(cell.racy)) {
      mine.bytes = mine.bytes & ~cell.racy;
      if (!Any(mine.bytes)) {
        ++t.counts[kDisabled];
        return kNoBytes;
      }
    }

    // [GL same ownership]
    if (cell.history.IsRedundant(mine)) {
      ++t.counts[kSameOwnership];
      return kNoBytes;
    }

    ByteMask raced = kNoBytes;
    const bool may_stay_out = access.if_racy >= IfRacy::kRefused;  // then nothing is forgotten for it
    cell.history.ForEachEarlier(arena_, ledger_, mine, [&](const Info& earlier) {
      const bool conflicts = Conflicts(earlier.kind, mine.kind);
      if (IsOwnerAtOnce(t, earlier, mine) || (conflicts && t.elements.IsOwner(*earlier.ownership)))
        return !may_stay_out && Covers(mine.kind, earlier.kind) && MayStandFor(earlier, mine);
      if (conflicts && !AreBothCommits(earlier, mine)) {
        // [GL Fig.5 rule 1, race]
        if (!Any(raced)) {
          record.Begin(access, RecordOf(mine, kAllBytes));
          NoteOwners(t, *earlier.ownership);
        }
        raced = raced | (earlier.bytes & mine.bytes);
        record.AddEarlier(RecordOf(earlier, mine.bytes));
      }
      return false;
    });
    if (Any(raced)) {
      ++t.counts[kRace];
      if (may_stay_out) return raced;
      const bool goes_on = access.if_racy == IfRacy::kGoesOn;
      if (!goes_on) cell.racy = cell.racy | raced;
      if (!goes_on || IsWrite(mine.kind)) cell.history.Forget(arena_, ledger_, raced);
      if (!goes_on || !IsWrite(mine.kind)) mine.bytes = mine.bytes & ~raced;
    }
    if (access.if_racy == IfRacy::kAsked) return kNoBytes;
    if (may_stay_out) {
      cell.history.ForEachEarlier(arena_, ledger_, mine, [&](const Info& earlier) {
        return Covers(mine.kind, earlier.kind) && MayStandFor(earlier, mine) && IsOrdered(t, earlier, mine);
      });
    }

    if (Any(mine.bytes)) {
      ++t.counts[RuleOf(access.kind)];
      cell.history.Record(arena_, ledger_, mine, [&](const Info& earlier) {
        return MayStandFor(earlier, mine) && IsOrdered(t, earlier, mine);
      });
    }
    return raced;
  }

  // ---- Lifetimes: [GL Fig.5 rule 8], with the allocation itself as the first write ----

  Stamp OnLifetime(Thread& t, Addr addr, uint64_t size, AccessOrigin origin, ContextId context) {
    ++t.counts[kLifetime];
    commits_.Forget(addr, size, [&](uint64_t commit) { t.elements.TakeOutCommit(commit); });
    return Stamp{.birth = t.elements.Stamp(), .context = context, .locks = t.held.id(), .origin = origin};
  }

  void Revive(Cell& cell, ByteMask bytes, const Stamp& stamp) {
    ScopedLock guard(cell.lock);
    Clear(cell, bytes);
    Info first{.ownership = ledger_.Revive(stamp.birth, stamp.locks),
               .context = stamp.context,
               .bytes = bytes,
               .kind = AccessKind::kWrite,
               .origin = stamp.origin};
    cell.history.Remember(arena_, ledger_, first);
    ledger_.Release(first.ownership);
  }

  void Forget(Cell& cell) { cell.history.Forget(arena_, ledger_, kAllBytes); }
  void Forget(Cell& cell, ByteMask bytes) {
    ScopedLock guard(cell.lock);
    Clear(cell, bytes);
  }

  // ---- Reports and tests ----

  LocksetTable<Mem>& locksets() { return locksets_; }
  const Arena<Mem>& arena() const { return arena_; }
  const Ledger& ledger() const { return ledger_; }

  // Calls visit(kind, owner, element) for each element of LS of each access to this byte that is remembered.
  template <class Visitor>
  void ForEachElement(Cell& cell, uint32_t byte, Visitor visit) {
    ScopedLock guard(cell.lock);
    cell.history.ForEach([&](const Info& info) {
      if ((Raw(info.bytes) >> byte & 1) == 0) return;
      ledger_.ForEachElement(*info.ownership,
                             [&](Element element) { visit(info.kind, info.ownership->owner, element); });
    });
  }

 private:
  static constexpr Rule RuleOf(AccessKind kind) {
    constexpr Rule kByKind[] = {kAtomicRead, kRead, kAtomicWrite, kWrite};
    return kByKind[Raw(kind)];
  }

  void Clear(Cell& cell, ByteMask bytes) {
    cell.history.Forget(arena_, ledger_, bytes);
    cell.racy = cell.racy & ~bytes;
  }

  static AccessRecord RecordOf(const Info& info, ByteMask bytes) {
    return AccessRecord{.thread = info.ownership->owner,
                        .context = info.context,
                        .locks = info.ownership->locks,
                        .bytes = info.bytes & bytes,
                        .kind = info.kind,
                        .origin = info.origin};
  }

  [[gnu::noinline]] void NoteOwners(Thread& t, typename Ledger::Ownership& ownership) {
    t.owners_at_race.Clear();
    ledger_.ForEachElement(ownership, [&](Element element) {
      if (IsOwner(element)) t.owners_at_race.Add(element);
    });
  }

  // Then they do not race, ordered or not: [GL 3 extended race]
  static bool AreBothCommits(const Info& earlier, const Info& mine) {
    return earlier.origin == AccessOrigin::kTransaction && mine.origin == AccessOrigin::kTransaction;
  }

  // By reads, who does not race with a commit may race with what came before it.
  bool MayStandFor(const Info& earlier, const Info& mine) const {
    return !commits_.is_by_reads() || mine.origin != AccessOrigin::kTransaction || AreBothCommits(earlier, mine);
  }

  // The short circuits that need no look at the event list: [GL Fig.8 Check-Happens-Before l.1-4].
  bool IsOwnerAtOnce(Thread& t, const Info& earlier, const Info& mine) const {
    // [GL 5.1 first]
    if (earlier.ownership->owner == t.tid) {
      ++t.counts[kSameThread];
      return true;
    }
    // [GL Fig.8 l.1]: they have a byte in common, so the one commit is ordered after the other; unless reads alone order them.
    if (!commits_.is_by_reads() && AreBothCommits(earlier, mine)) {
      ++t.counts[kBothTransactions];
      return true;
    }
    // [GL 5.1 second]
    if (t.elements.TookOver(*earlier.ownership)) {
      ++t.counts[kLockHeld];
      return true;
    }
    return false;
  }

  bool IsOrdered(Thread& t, const Info& earlier, const Info& mine) const {
    return IsOwnerAtOnce(t, earlier, mine) || t.elements.IsOwner(*earlier.ownership);
  }

  Arena<Mem> arena_;  // first: everything below lives in it
  LocksetTable<Mem> locksets_;
  Ledger ledger_;
  LastCommits<Mem> commits_;
};

}  // namespace redflag
