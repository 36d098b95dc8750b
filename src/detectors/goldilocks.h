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
//   C_t F_t P_t    Thread::self, fence, pending    elements: t itself, its latest release fence, its relaxed loads
//   M_s X_s R_s    Sync::element                   elements: atomic or signal s, lock s, readers of lock s. (o, v), (o, l)
//   K_c            LastCommits                     element: commit c, in the place of R u W and of TL
//   KL(x)          Cell::lock
//   racy(x)        Cell::racy                      bytes whose checks are off; under the lock of the cell
//
// Each rule carries its tag and a counter.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/arena.h"
#include "base/mem.h"
#include "base/vector.h"
#include "clocks/info_history.h"
#include "clocks/last_commits.h"
#include "clocks/lockset.h"
#include "clocks/ownership.h"
#include "clocks/sync_event_list.h"
#include "detectors/detector.h"

namespace redflag {

template <class Mem, class Limits = EventListLimits>
class Goldilocks {
  using Ledger = OwnershipLedger<Mem, Limits>;
  using History = InfoHistory<Mem, Ledger>;
  using Info = typename History::Info;

 public:
  static constexpr const char* kName = "goldilocks";
  static constexpr const char* kSummary = "precise locksets, lazily evaluated: the races of hb, found another way";
  static constexpr Map kMap = Map::kGranule;
  static constexpr Filter kFilter = Filter::kOwnSlot;
  static constexpr AfterRace kAfterRace = AfterRace::kDisable;
  static constexpr bool kReports = true;

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
      {"read", "[GL Fig.5 rule 1, read]"},
      {"write", "[GL Fig.5 rule 1, write]"},
      {"atomic read", "[GL Fig.5 rule 1, atomic]"},
      {"atomic write", "[GL Fig.5 rule 1, atomic]"},
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
      {"thread end", ""},
      {"commit", "[GL Fig.5 rule 9]"},
      {"lifetime", "[GL Fig.5 rule 8]"},
  };

  struct Thread : ThreadBase<Mem> {
    Thread(Goldilocks& d, Tid id) : ThreadBase<Mem>(d.arena_, d.locksets_, id), holds(d.arena_), detector(d) {
      mine.thread = id;
    }
    // A thread that is gone can do nothing with what it owns.
    ~Thread() {
      detector.ledger_.EndSegment(mine);
      for (const Element element : {self(), fence(), pending()}) detector.Append(*this, kNoElement, element);
    }
    Element self() const { return ThreadElement(this->tid); }
    Element fence() const { return MakeElement(ElementKind::kFence, Raw(this->tid)); }
    Element pending() const { return MakeElement(ElementKind::kPending, Raw(this->tid)); }
    uint64_t* steps() { return counts + kFirstStep; }

    typename Ledger::ThreadOwnership mine;
    Vector<uint64_t, Mem> holds;  // the locks it holds, as Sync::NameIn, the newest last
    bool has_fence = false;       // F_t may be in locksets
    bool has_pending = false;     // P_t may be where C_t is not
    Goldilocks& detector;
    uint64_t counts[kRuleCount] = {};
  };

  // Its number is never used again: a lock that is created where another one was destroyed is a different element.
  struct Sync {
    explicit Sync(Goldilocks& d) : number(d.NextNumber()), detector(d) {}
    ~Sync() {
      for (const ElementKind kind : {ElementKind::kCarried, ElementKind::kExclusive, ElementKind::kShared}) {
        if (!Of(kind).empty) detector.AppendByNobody(kNoElement, element(kind));
      }
    }
    Sync(const Sync&) = delete;
    Sync& operator=(const Sync&) = delete;

    Element element(ElementKind kind) const { return MakeElement(kind, number); }
    uint64_t NameIn(LockMode mode) const { return (number << 1) | (mode == LockMode::kShared ? 1u : 0u); }

    // What is known without looking at any lockset, so that steps which cannot change one leave no event.
    struct Carrier {
      bool empty = true;           // in no lockset
      Tid known_to = kNoThread;    // a thread that is in every lockset this element is in
      Tid pending_of = kNoThread;  // a thread whose P_t is
    };
    Carrier& Of(ElementKind kind) { return carriers[Raw(kind) - Raw(ElementKind::kCarried)]; }

    uint64_t number;
    Carrier carriers[3];
    Goldilocks& detector;
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

  // [GL Fig.5 rule 6]
  Tag OnFork(Thread& parent, Thread& child) {
    ++parent.counts[kFork];
    return HandOn(parent, child.self());
  }

  // [GL Fig.5 rule 7]
  Tag OnJoin(Thread& t, Thread& child) {
    ++t.counts[kJoin];
    return Append(t, child.self(), t.self());
  }

  Tag OnEnd(Thread& t) {
    ++t.counts[kEnd];
    return EndSegment(t);
  }

  // ---- Locks, with the arcs of TS 4.4.1: what readers leave is taken by writers only ----

  // [GL Fig.5 rule 4]
  Tag OnLock(Thread& t, Sync& s, LockMode mode) {
    ++t.counts[mode == LockMode::kExclusive ? kLock : kRdLock];
    Take(t, s, ElementKind::kExclusive);
    if (mode == LockMode::kExclusive) Take(t, s, ElementKind::kShared);
    t.holds.Push(s.NameIn(mode));
    ledger_.EndOwnership(t.mine);
    return Tag::kKept;
  }

  // [GL Fig.5 rule 5]
  Tag OnUnlock(Thread& t, Sync& s, LockMode mode) {
    ++t.counts[mode == LockMode::kExclusive ? kUnlock : kRdUnlock];
    for (size_t i = t.holds.size(); i-- > 0;) {
      if (t.holds[i] != s.NameIn(mode)) continue;
      t.holds.Remove(i);
      break;
    }
    return Give(t, t.self(), s, mode == LockMode::kExclusive ? ElementKind::kExclusive : ElementKind::kShared);
  }

  // Every lock is one.
  Tag OnPureHbLock(Thread&, Sync&) { return Tag::kKept; }

  // ---- Signals, atomics, fences: the steps of detectors/atomics.h ----

  // [GL Fig.5 rule 2]
  Tag OnAcquire(Thread& t, Sync& s) {
    ++t.counts[kAcquire];
    return Take(t, s, ElementKind::kCarried);
  }
  // [GL Fig.5 rule 3], after what the old value carried is gone
  Tag OnReleaseStore(Thread& t, Sync& s) {
    ++t.counts[kReleaseStore];
    EndValue(t, s);
    return Give(t, t.self(), s, ElementKind::kCarried);
  }
  // [GL Fig.5 rule 3]
  Tag OnReleaseMerge(Thread& t, Sync& s) {
    ++t.counts[kReleaseMerge];
    return Give(t, t.self(), s, ElementKind::kCarried);
  }
  // [GL atomics]: if M_s is in LS(x), add P_t. Where C_t is already, P_t could add nothing.
  Tag OnRelaxedLoad(Thread& t, Sync& s) {
    ++t.counts[kRelaxedLoad];
    typename Sync::Carrier& carrier = s.Of(ElementKind::kCarried);
    if (carrier.empty || carrier.known_to == t.tid || carrier.pending_of == t.tid) return Tag::kKept;
    carrier.pending_of = t.tid;
    t.has_pending = true;
    return Append(t, s.element(ElementKind::kCarried), t.pending());
  }
  // [GL atomics]: take M_s out; if F_t is in LS(x), add M_s.
  Tag OnRelaxedStore(Thread& t, Sync& s) {
    ++t.counts[kRelaxedStore];
    EndValue(t, s);
    return t.has_fence ? Give(t, t.fence(), s, ElementKind::kCarried) : Tag::kKept;
  }
  // [GL atomics]: if F_t is in LS(x), add M_s.
  Tag OnRelaxedMerge(Thread& t, Sync& s) {
    ++t.counts[kRelaxedMerge];
    return t.has_fence ? Give(t, t.fence(), s, ElementKind::kCarried) : Tag::kKept;
  }
  // [GL atomics]: if P_t is in LS(x), add C_t.
  Tag OnAcquireFence(Thread& t) {
    ++t.counts[kAcquireFence];
    if (!t.has_pending) return Tag::kKept;
    t.has_pending = false;
    return Append(t, t.pending(), t.self());
  }
  // [GL atomics]: if C_t is in LS(x), add F_t.
  Tag OnReleaseFence(Thread& t) {
    ++t.counts[kReleaseFence];
    t.has_fence = true;
    return HandOn(t, t.fence());
  }

  // ---- Transactions: [GL Fig.5 rule 9] ----

  Tag OnCommitBegin(Thread& t, const Footprint* footprint, size_t count) {
    ++t.counts[kCommit];
    commits_.ForEach(footprint, count, [&](uint64_t commit, Tid author) {
      if (author != t.tid) Append(t, CommitElement(commit), t.self());
    });
    return Tag::kKept;
  }
  Tag OnCommitEnd(Thread& t, const Footprint* footprint, size_t count) {
    commits_.Add(
        t.tid, footprint, count, [&](uint64_t commit) { Append(t, t.self(), CommitElement(commit)); },
        [&](uint64_t commit) { Append(t, kNoElement, CommitElement(commit)); });
    return EndSegment(t);
  }

  // ---- Accesses: [GL Fig.5 rule 1] ----

  ByteMask OnAccess(Thread& t, Cell& cell, const Access& access, RaceRecord& record) {
    Info mine{.ownership = OwnershipOf(t),
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
    cell.history.ForEachEarlier(arena_, ledger_, mine, [&](const Info& earlier) {
      const bool conflicts = Conflicts(earlier.kind, mine.kind);
      if (IsOwnerAtOnce(t, earlier, mine) || (conflicts && IsOwner(t, earlier))) return Covers(mine.kind, earlier.kind);
      if (conflicts) {
        // [GL Fig.5 rule 1, race]
        if (!Any(raced)) record.Begin(access, RecordOf(mine, kAllBytes));
        raced = raced | (earlier.bytes & mine.bytes);
        record.AddEarlier(RecordOf(earlier, mine.bytes));
      }
      return false;
    });
    if (Any(raced)) {
      ++t.counts[kRace];
      cell.racy = cell.racy | raced;
      cell.history.Forget(arena_, ledger_, raced);
      mine.bytes = mine.bytes & ~raced;
    }

    if (Any(mine.bytes)) {
      ++t.counts[RuleOf(access.kind)];
      cell.history.Record(arena_, ledger_, mine, [&](const Info& earlier) {
        return IsOwnerAtOnce(t, earlier, mine) || IsOwner(t, earlier);
      });
    }
    return raced;
  }

  // ---- Lifetimes: [GL Fig.5 rule 8], with the allocation itself as the first write ----

  Stamp OnLifetime(Thread& t, Addr addr, uint64_t size, AccessOrigin origin, ContextId context) {
    ++t.counts[kLifetime];
    commits_.Forget(addr, size, [&](uint64_t commit) { Append(t, kNoElement, CommitElement(commit)); });
    return Stamp{.birth = ledger_.Stamp(t.mine), .context = context, .locks = t.held.id(), .origin = origin};
  }

  void Revive(Cell& cell, ByteMask bytes, const Stamp& stamp) {
    ScopedLock guard(cell.lock);
    cell.history.Forget(arena_, ledger_, bytes);
    cell.racy = cell.racy & ~bytes;
    Info first{.ownership = ledger_.Revive(stamp.birth, stamp.locks),
               .context = stamp.context,
               .bytes = bytes,
               .kind = AccessKind::kWrite,
               .origin = stamp.origin};
    cell.history.Remember(arena_, ledger_, first);
    ledger_.Release(first.ownership);
  }

  void Forget(Cell& cell) { cell.history.Forget(arena_, ledger_, kAllBytes); }

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
  static Element CommitElement(uint64_t commit) { return MakeElement(ElementKind::kCommit, commit); }

  static constexpr Rule RuleOf(AccessKind kind) {
    constexpr Rule kByKind[] = {kAtomicRead, kRead, kAtomicWrite, kWrite};
    return kByKind[Raw(kind)];
  }

  static AccessRecord RecordOf(const Info& info, ByteMask bytes) {
    return AccessRecord{.thread = info.ownership->owner,
                        .context = info.context,
                        .locks = info.ownership->locks,
                        .bytes = info.bytes & bytes,
                        .kind = info.kind,
                        .origin = info.origin};
  }

  // ---- Locksets ----

  typename Ledger::Ownership* OwnershipOf(Thread& t) {
    if (t.mine.current != nullptr) return t.mine.current;
    return ledger_.Begin(t.mine, t.held.id(), t.holds.empty() ? 0 : t.holds.back());
  }

  // The short circuits that need no look at the event list: [GL Fig.8 Check-Happens-Before l.1-4].
  static bool IsOwnerAtOnce(Thread& t, const Info& earlier, const Info& mine) {
    // [GL 5.1 first]
    if (earlier.ownership->owner == t.tid) {
      ++t.counts[kSameThread];
      return true;
    }
    // [GL Fig.8 l.1]: they have a byte in common, so the one commit is ordered after the other.
    if (earlier.origin == AccessOrigin::kTransaction && mine.origin == AccessOrigin::kTransaction) {
      ++t.counts[kBothTransactions];
      return true;
    }
    // [GL 5.1 second]: its owner held the lock then and t holds it now, not both for reading: it was handed over.
    const uint64_t alock = earlier.ownership->alock;
    for (const uint64_t held : t.holds) {
      if (held >> 1 != alock >> 1 || (held & alock & 1) != 0) continue;
      ++t.counts[kLockHeld];
      return true;
    }
    return false;
  }
  bool IsOwner(Thread& t, const Info& earlier) { return ledger_.IsOwner(*earlier.ownership, t.tid, t.steps()); }

  // ---- Events ----

  Tag Append(Thread& t, Element from, Element to) {
    ledger_.Append(from, to, t.steps());
    return Tag::kKept;
  }
  void AppendByNobody(Element from, Element to) {
    uint64_t steps[kOwnershipStepCount] = {};
    ledger_.Append(from, to, steps);
  }
  Tag EndSegment(Thread& t) {
    ledger_.EndSegment(t.mine);
    return Tag::kChanged;
  }
  Tag HandOn(Thread& t, Element to) {
    Append(t, t.self(), to);
    return EndSegment(t);
  }

  // If the element of s is in LS(x), adds t.
  Tag Take(Thread& t, Sync& s, ElementKind kind) {
    typename Sync::Carrier& carrier = s.Of(kind);
    if (carrier.empty || carrier.known_to == t.tid) return Tag::kKept;
    carrier.known_to = t.tid;
    return Append(t, s.element(kind), t.self());
  }
  // If `from`, which is t or t's fence, is in LS(x), adds the element of s.
  Tag Give(Thread& t, Element from, Sync& s, ElementKind kind) {
    typename Sync::Carrier& carrier = s.Of(kind);
    const bool knows_all = carrier.empty || carrier.known_to == t.tid;
    carrier = {.empty = false, .known_to = knows_all ? t.tid : kNoThread};
    if (from == t.self()) return HandOn(t, s.element(kind));
    return Append(t, from, s.element(kind));
  }
  void EndValue(Thread& t, Sync& s) {
    typename Sync::Carrier& carrier = s.Of(ElementKind::kCarried);
    if (!carrier.empty) Append(t, kNoElement, s.element(ElementKind::kCarried));
    carrier = {};
  }

  uint64_t NextNumber() {
    ScopedLock guard(numbers_lock_);
    return ++numbers_;
  }

  Arena<Mem> arena_;  // first: everything below lives in it
  LocksetTable<Mem> locksets_;
  Ledger ledger_;
  LastCommits<Mem> commits_;
  typename Mem::Lock numbers_lock_;
  uint64_t numbers_ = 0;
};

}  // namespace redflag
