// null: counts what it is shown and decides nothing. The floor of every cost comparison, and the smallest
// complete detector: start a new one from a copy of this file.
//
// Notation: none. No state, no paper.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "clocks/lockset.h"
#include "detectors/detector.h"

namespace redflag {

template <class Mem>
class Null {
 public:
  static constexpr const char* kName = "null";
  static constexpr const char* kSummary = "counts events, reports nothing: the floor of the cost";
  static constexpr const char* kWhyMore = "";
  static constexpr const char* kWhyLess = "counts only";
  static constexpr Map kMap = Map::kGranule;
  static constexpr Filter kFilter = Filter::kNone;
  static constexpr AfterRace kAfterRace = AfterRace::kContinue;
  static constexpr bool kReports = false;
  static constexpr Claim kClaim = Claim::kUnordered;

  enum Rule : uint8_t { kAccess, kSynchronization, kThread, kLifetime, kRuleCount };
  static constexpr RuleInfo kRules[kRuleCount] = {
      {"access", ""}, {"synchronization", ""}, {"thread", ""}, {"lifetime", ""}};

  struct Thread : ThreadBase<Mem> {
    Thread(Null& null, Tid id) : ThreadBase<Mem>(null.arena_, null.locksets_, id) {}
    uint64_t counts[kRuleCount] = {};
  };
  struct Sync {
    explicit Sync(Null&) {}
  };
  struct Cell {};
  struct Stamp {};

  Null() : locksets_(arena_) {}

  Tag OnStart(Thread& t) { return Count(t, kThread); }
  Tag OnFork(Thread& parent, Thread&) { return Count(parent, kThread); }
  Tag OnJoin(Thread& t, Thread&) { return Count(t, kThread); }
  Tag OnEnd(Thread& t) { return Count(t, kThread); }
  Tag OnLock(Thread& t, Sync&, LockMode) { return Count(t, kSynchronization); }
  Tag OnUnlock(Thread& t, Sync&, LockMode) { return Count(t, kSynchronization); }
  Tag OnPureHbLock(Thread& t, Sync&) { return Count(t, kSynchronization); }
  Tag OnAcquire(Thread& t, Sync&) { return Count(t, kSynchronization); }
  Tag OnReleaseStore(Thread& t, Sync&) { return Count(t, kSynchronization); }
  Tag OnReleaseMerge(Thread& t, Sync&) { return Count(t, kSynchronization); }
  Tag OnRelaxedLoad(Thread& t, Sync&) { return Count(t, kSynchronization); }
  Tag OnRelaxedStore(Thread& t, Sync&) { return Count(t, kSynchronization); }
  Tag OnRelaxedMerge(Thread& t, Sync&) { return Count(t, kSynchronization); }
  Tag OnAcquireFence(Thread& t) { return Count(t, kSynchronization); }
  Tag OnReleaseFence(Thread& t) { return Count(t, kSynchronization); }
  Tag OnCommitBegin(Thread& t, const Footprint*, size_t) { return Count(t, kSynchronization); }
  Tag OnCommitEnd(Thread&, const Footprint*, size_t) { return Tag::kKept; }
  ByteMask OnAccess(Thread& t, Cell&, const Access&, RaceRecord&) {
    ++t.counts[kAccess];
    return kNoBytes;
  }
  Stamp OnLifetime(Thread& t, Addr, uint64_t, AccessOrigin, ContextId) {
    ++t.counts[kLifetime];
    return Stamp{};
  }
  void Revive(Cell&, ByteMask, const Stamp&) {}
  void Forget(Cell&) {}
  void Forget(Cell&, ByteMask) {}

  LocksetTable<Mem>& locksets() { return locksets_; }
  const Arena<Mem>& arena() const { return arena_; }

 private:
  static Tag Count(Thread& t, Rule rule) {
    ++t.counts[rule];
    return Tag::kKept;
  }

  Arena<Mem> arena_;
  LocksetTable<Mem> locksets_;
};

}  // namespace redflag
