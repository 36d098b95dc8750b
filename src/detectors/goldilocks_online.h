// goldilocks as it runs inside programs: precise locksets behind the cheapest of all short circuits. An epoch says whether the thread is an owner: "C_t is
// in LS(x)" and "t knows the epoch of the access" are the same (docs/algorithms/goldilocks.md). So accesses and decisions are those of hb, and what a
// lockset is needed for is what comes after: who owned the access that a race is with, and how the right to it moved. For that, every step of Figure 5 is
// written down, by each thread for itself (clocks/ownership_log.h), and evaluated when somebody asks: the laziest evaluation of GL section 5.
//
// Who wants locksets to decide has detectors/goldilocks.h.
//
// Notation: that of hb.h for clocks, and of goldilocks.h for locksets. Elements are told of each step before clocks are: an event has the epoch that the step
// ends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "clocks/commit_clocks.h"
#include "clocks/ownership_log.h"
#include "clocks/sync_elements.h"
#include "detectors/detector.h"
#include "detectors/hb.h"
#include "detectors/race_owners.h"

namespace redflag {

template <class Mem, template <class> class CellOf = ExactCell, class Limits = OwnershipLogLimits>
class GoldilocksOnline : public Hb<Mem, CellOf> {
  using Base = Hb<Mem, CellOf>;
  using Base::arena_;
  using Log = OwnershipLog<Mem, Limits>;
  using CommitName = typename CommitClocks<Mem>::Name;

 public:
  static constexpr const char* kName = "goldilocks";

  enum Rule : uint8_t { kEvaluated = Base::kRuleCount, kEventsWalked, kForgotten, kContradiction, kRuleCount };
  static_assert(int{kRuleCount} <= int{Base::kMostRules});
  static constexpr std::array<RuleInfo, kRuleCount> kRules = [] {
    std::array<RuleInfo, kRuleCount> all{};
    for (size_t i = 0; i < Base::kRuleCount; ++i) all[i] = Base::kRules[i];
    all[kEvaluated] = {"lockset evaluated", "[GL 5 Apply-Lockset-Rules]"};
    all[kEventsWalked] = {"events walked", "[GL 5 Apply-Lockset-Rules]"};
    all[kForgotten] = {"lockset forgotten", "[GL 5.4 trim]"};
    all[kContradiction] = {"lockset contradicts epoch", "[GL epoch]"};
    return all;
  }();

  struct Thread : Base::Thread {
    Thread(GoldilocksOnline& d, Tid id) : Base::Thread(d, id), elements(d.arena_, d.log_, id, nullptr) {}
    ThreadElements<Mem, Log> elements;
  };

  struct Sync : Base::Sync, SyncElements<Log> {
    explicit Sync(GoldilocksOnline& d) : Base::Sync(d), SyncElements<Log>(d.log_) {}
  };

  GoldilocksOnline() : log_(arena_) {}

  // ---- Threads ----

  Tag OnStart(Thread& t) { return GoOn(t, Base::OnStart(t)); }
  Tag OnFork(Thread& parent, Thread& child) {
    parent.elements.Fork(child.elements);
    const Tag tag = Base::OnFork(parent, child);
    GoOn(child, tag);
    return GoOn(parent, tag);
  }
  Tag OnJoin(Thread& t, Thread& child) {
    t.elements.Join(child.elements);
    return Base::OnJoin(t, child);
  }
  Tag OnEnd(Thread& t) {
    t.elements.End();
    return Base::OnEnd(t);
  }

  // ---- Locks ----

  Tag OnLock(Thread& t, Sync& s, LockMode mode) {
    t.elements.Lock(s, mode);
    return Base::OnLock(t, s, mode);
  }
  Tag OnUnlock(Thread& t, Sync& s, LockMode mode) {
    t.elements.Unlock(s, mode);
    return GoOn(t, Base::OnUnlock(t, s, mode));
  }

  // ---- Signals, atomics, fences: the steps of detectors/atomics.h ----

  static void KnowsCarried() = delete;  // it takes note of each
  Tag OnAcquire(Thread& t, Sync& s) {
    t.elements.Acquire(s);
    return Base::OnAcquire(t, s);
  }
  Tag OnReleaseStore(Thread& t, Sync& s) {
    t.elements.ReleaseStore(s);
    return GoOn(t, Base::OnReleaseStore(t, s));
  }
  Tag OnReleaseMerge(Thread& t, Sync& s) {
    t.elements.ReleaseMerge(s);
    return GoOn(t, Base::OnReleaseMerge(t, s));
  }
  Tag OnRelaxedLoad(Thread& t, Sync& s) {
    t.elements.RelaxedLoad(s);
    return Base::OnRelaxedLoad(t, s);
  }
  Tag OnRelaxedStore(Thread& t, Sync& s) {
    t.elements.RelaxedStore(s);
    return Base::OnRelaxedStore(t, s);
  }
  Tag OnRelaxedMerge(Thread& t, Sync& s) {
    t.elements.RelaxedMerge(s);
    return Base::OnRelaxedMerge(t, s);
  }
  Tag OnAcquireFence(Thread& t) {
    t.elements.AcquireFence();
    return Base::OnAcquireFence(t);
  }
  Tag OnReleaseFence(Thread& t) {
    t.elements.ReleaseFence();
    return GoOn(t, Base::OnReleaseFence(t));
  }

  // ---- Transactions: [GL Fig.5 rule 9] ----

  Tag OnCommitBegin(Thread& t, const Footprint* footprint, size_t count) {
    return GoOn(t, Base::OnCommitBegin(t, footprint, count, [&](CommitName& earlier) {
                  t.elements.TakeCommit(earlier.number, earlier.turn);
                }));
  }
  Tag OnCommitEnd(Thread& t, const Footprint* footprint, size_t count) {
    return GoOn(t,
                Base::OnCommitEnd(
                    t, footprint, count, [&](CommitName& commit) { t.elements.GiveCommit(commit.number, commit.turn); },
                    [&](CommitName& earlier, CommitName& commit) {
                      t.elements.JoinCommits(earlier.number, earlier.turn, commit.number, commit.turn);
                    }));
  }

  // ---- Few times and slots ----

  void Renew(Thread& t) {
    t.elements.LeaveEpoch();
    Base::Renew(t);
    t.elements.GoOn(t.clock.epoch());
  }
  void BeginEra() {
    Base::BeginEra();
    log_.Clear();
  }
  void Restart(Thread& t) {
    Base::Restart(t);
    t.elements.GoOn(t.clock.epoch());
  }

  // ---- Locksets ----

  // LS of what `owner` accessed at `label`, which t is in a race with; those first who came first. False: nobody knows any more. t has done nothing since.
  bool FindOwners(Thread& t, Tid owner, Epoch label, RaceOwners& found) {
    found.Clear();
    if (Base::slots_.IsShared(SlotOf(label))) return false;
    typename Log::Owners owners(arena_);
    if (!log_.Evaluate(owner, label, owners, t.counts[kEventsWalked])) {
      ++t.counts[kForgotten];
      return false;
    }
    ++t.counts[kEvaluated];
    if (owners.Find(Raw(t.elements.self())) != nullptr) ++t.counts[kContradiction];
    uint64_t turns[RaceOwners::kMost];
    owners.ForEach([&](uint64_t element, const typename Log::Arrival& came) {
      if (!IsOwner(Element{element})) return;
      uint32_t place = found.count;
      for (; place > 0 && turns[place - 1] > came.turn.number; --place) {
        if (place < RaceOwners::kMost) turns[place] = turns[place - 1];
      }
      if (place < RaceOwners::kMost) turns[place] = came.turn.number;
      found.AddAt(place, Element{element}, GiverOf(owners, came.from));
    });
    return true;
  }

  Log& log() { return log_; }

 private:
  // What came to a thread's loads before its fence came from where they loaded it.
  static Element GiverOf(typename Log::Owners& owners, Element from) {
    if (KindOf(from) != ElementKind::kPending) return from;
    const typename Log::Arrival* before = owners.Find(Raw(from));
    return before == nullptr ? kNoElement : before->from;
  }

  static Tag GoOn(Thread& t, Tag tag) {
    t.elements.GoOn(t.clock.epoch());
    return tag;
  }

  Log log_;
};

}  // namespace redflag
