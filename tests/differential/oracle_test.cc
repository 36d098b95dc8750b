// Hand-made traces, one rule each, with the verdict worked out on paper.
#include "tests/differential/oracle.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <set>
#include <utility>
#include <vector>

namespace redflag::oracle {
namespace {

using enum MemoryOrder;

constexpr uint64_t kX = 0x1000;  // data
constexpr uint64_t kY = 0x2000;  // other data
constexpr uint64_t kF = 0x3000;  // an atomic flag
constexpr uint64_t kG = 0x3008;  // another one
constexpr uint32_t kM = 0;       // locks, signals and barriers
constexpr uint32_t kN = 1;

Event On(EventKind kind, uint32_t thread, uint64_t addr, uint64_t size, MemoryOrder order = kRelaxed) {
  return Event::OnMemory(kind, Tid{thread}, Addr{addr}, size, order);
}
Event On(EventKind kind, uint32_t thread, uint32_t object, LockMode mode = LockMode::kExclusive) {
  return Event::OnObject(kind, Tid{thread}, object, mode);
}
Event On(EventKind kind, uint32_t thread) { return Event::OnThread(kind, Tid{thread}); }

Event Read(uint32_t thread, uint64_t addr, uint64_t size = 1) { return On(EventKind::kRead, thread, addr, size); }
Event Write(uint32_t thread, uint64_t addr, uint64_t size = 1) { return On(EventKind::kWrite, thread, addr, size); }
Event Load(uint32_t thread, uint64_t addr, MemoryOrder order, uint64_t size = 4) {
  return On(EventKind::kAtomicLoad, thread, addr, size, order);
}
Event Store(uint32_t thread, uint64_t addr, MemoryOrder order, uint64_t size = 4) {
  return On(EventKind::kAtomicStore, thread, addr, size, order);
}
Event Rmw(uint32_t thread, uint64_t addr, MemoryOrder order, uint64_t size = 4) {
  return On(EventKind::kAtomicRmw, thread, addr, size, order);
}
Event Fence(uint32_t thread, MemoryOrder order) { return Event::OnThread(EventKind::kFence, Tid{thread}, order); }
Event Lock(uint32_t thread, uint32_t lock) { return On(EventKind::kLock, thread, lock); }
Event Unlock(uint32_t thread, uint32_t lock) { return On(EventKind::kUnlock, thread, lock); }
Event LockShared(uint32_t thread, uint32_t lock) { return On(EventKind::kLock, thread, lock, LockMode::kShared); }
Event UnlockShared(uint32_t thread, uint32_t lock) { return On(EventKind::kUnlock, thread, lock, LockMode::kShared); }
Event Signal(uint32_t thread, uint32_t object) { return On(EventKind::kSignal, thread, object); }
Event Wait(uint32_t thread, uint32_t object) { return On(EventKind::kWait, thread, object); }
Event Fork(uint32_t thread, uint32_t child) { return On(EventKind::kThreadFork, thread, child); }
Event Join(uint32_t thread, uint32_t child) { return On(EventKind::kThreadJoin, thread, child); }
Event Arrive(uint32_t thread, uint32_t barrier, uint64_t parties) {
  Event event = On(EventKind::kBarrierArrive, thread, barrier);
  event.size = parties;
  return event;
}
Event Leave(uint32_t thread, uint32_t barrier, uint64_t parties) {
  Event event = On(EventKind::kBarrierLeave, thread, barrier);
  event.size = parties;
  return event;
}
Event TxRead(uint32_t thread, uint64_t addr, uint64_t size = 1) { return On(EventKind::kTxRead, thread, addr, size); }
Event TxWrite(uint32_t thread, uint64_t addr, uint64_t size = 1) { return On(EventKind::kTxWrite, thread, addr, size); }
Event Commit(uint32_t thread) { return On(EventKind::kTxCommit, thread); }
Event Alloc(uint32_t thread, uint64_t addr, uint64_t size) { return On(EventKind::kAlloc, thread, addr, size); }
Event Free(uint32_t thread, uint64_t addr, uint64_t size) { return On(EventKind::kFree, thread, addr, size); }
Event Publish(uint32_t thread, uint64_t addr, uint64_t size = 1) { return On(EventKind::kPublish, thread, addr, size); }

Trace Make(std::initializer_list<Event> events) {
  Trace trace;
  trace.events = events;
  return trace;
}

std::vector<FirstRace> Races(std::initializer_list<Event> events) { return FindRaces(Make(events)); }

// (event, byte) of every first race.
using Verdict = std::set<std::pair<uint64_t, uint64_t>>;
Verdict Find(std::initializer_list<Event> events) {
  Verdict verdict;
  for (const FirstRace& race : Races(events)) verdict.insert({race.event, race.byte});
  return verdict;
}
const Verdict kSilent;

// ---- Threads

TEST(OracleTest, InitialThreadsAreNotOrdered) { EXPECT_EQ(Find({Write(0, kX), Write(1, kX)}), (Verdict{{1, kX}})); }

TEST(OracleTest, OneThreadNeverRaces) { EXPECT_EQ(Find({Write(0, kX), Read(0, kX), Write(0, kX)}), kSilent); }

TEST(OracleTest, TwoReadsDoNotConflict) { EXPECT_EQ(Find({Read(0, kX), Read(1, kX)}), kSilent); }

TEST(OracleTest, ForkOrdersWhatIsBeforeItOnly) {
  EXPECT_EQ(Find({Write(0, kX), Fork(0, 1), Write(1, kX)}), kSilent);
  EXPECT_EQ(Find({Fork(0, 1), Write(0, kX), Write(1, kX)}), (Verdict{{2, kX}}));
}

TEST(OracleTest, JoinOrdersTheWholeChild) {
  EXPECT_EQ(Find({Fork(0, 1), Write(1, kX), Join(0, 1), Write(0, kX)}), kSilent);
  EXPECT_EQ(Find({Fork(0, 1), Write(1, kX), Write(0, kX), Join(0, 1)}), (Verdict{{2, kX}}));
}

TEST(OracleTest, JoinOfASilentChildIsOrderedAfterItsFork) {
  EXPECT_EQ(Find({Write(0, kX), Fork(0, 1), Join(2, 1), Write(2, kX)}), kSilent);
}

// ---- Races

TEST(OracleTest, ReportsTheFirstRaceOfEachByteOnly) {
  EXPECT_EQ(Find({Write(0, kX, 4), Write(1, kX + 2, 4), Write(0, kX, 8)}),
            (Verdict{{1, kX + 2}, {1, kX + 3}, {2, kX + 4}, {2, kX + 5}}));
}

TEST(OracleTest, NamesEveryEarlierAccessAndTheMaximalOnes) {
  const auto races = Races({Read(0, kX), Read(0, kX), Read(1, kX), Write(2, kX)});
  ASSERT_EQ(races.size(), 1u);
  EXPECT_EQ(races[0], (FirstRace{kX, 3, {0, 1, 2}, {1, 2}}));
}

TEST(OracleTest, SortsByEventThenByte) {
  const auto races = Races({Write(0, kY, 2), Write(0, kX, 2), Write(1, kY, 2), Write(1, kX, 2)});
  ASSERT_EQ(races.size(), 4u);
  EXPECT_EQ(races[0].byte, kY);
  EXPECT_EQ(races[1].byte, kY + 1);
  EXPECT_EQ(races[2].byte, kX);
  EXPECT_EQ(races[3].byte, kX + 1);
}

TEST(OracleTest, AtomicsDoNotRaceWithEachOtherButWithPlainAccesses) {
  EXPECT_EQ(Find({Store(0, kF, kRelaxed), Store(1, kF, kRelaxed), Rmw(2, kF, kRelaxed)}), kSilent);
  EXPECT_EQ(Find({Store(0, kF, kRelaxed), Read(1, kF + 1)}), (Verdict{{1, kF + 1}}));
  EXPECT_EQ(Find({Load(0, kF, kSeqCst), Write(1, kF)}), (Verdict{{1, kF}}));
  EXPECT_EQ(Find({Load(0, kF, kSeqCst), Read(1, kF)}), kSilent);
  EXPECT_EQ(Find({Write(0, kF), Load(1, kF, kSeqCst, 1)}), (Verdict{{1, kF}}));
}

// ---- Locks

TEST(OracleTest, UnlockIsOrderedBeforeLaterLocksOfTheSameLock) {
  EXPECT_EQ(Find({Lock(0, kM), Write(0, kX), Unlock(0, kM), Lock(1, kM), Write(1, kX), Unlock(1, kM)}), kSilent);
  EXPECT_EQ(Find({Lock(0, kM), Write(0, kX), Unlock(0, kM), Lock(1, kN), Write(1, kX), Unlock(1, kN)}),
            (Verdict{{4, kX}}));
}

TEST(OracleTest, EveryEarlierUnlockCountsNotTheLastOnly) {
  EXPECT_EQ(Find({Lock(0, kM), Write(0, kX), Unlock(0, kM), Lock(1, kM), Unlock(1, kM), Lock(2, kM), Write(2, kX)}),
            kSilent);
}

TEST(OracleTest, SharedLocksAreOrderedWithExclusiveOnesOnly) {
  EXPECT_EQ(Find({LockShared(0, kM), Write(0, kX), UnlockShared(0, kM), LockShared(1, kM), Write(1, kX)}),
            (Verdict{{4, kX}}));
  EXPECT_EQ(Find({LockShared(0, kM), Read(0, kX), UnlockShared(0, kM), Lock(1, kM), Write(1, kX)}), kSilent);
  EXPECT_EQ(Find({Lock(0, kM), Write(0, kX), Unlock(0, kM), LockShared(1, kM), Read(1, kX)}), kSilent);
  // Two readers, then a writer that comes after both.
  EXPECT_EQ(Find({LockShared(0, kM), LockShared(1, kM), Read(0, kX), Read(1, kX), UnlockShared(0, kM),
                  UnlockShared(1, kM), Lock(2, kM), Write(2, kX)}),
            kSilent);
}

TEST(OracleTest, OnlyTheOutermostPairOfAReentrantLockOrders) {
  // The inner unlock releases nothing: what thread 0 does before its outermost unlock is what counts. In a
  // well-formed trace nobody else can lock in between, so the difference shows in the happens-before
  // relation.
  const Trace trace = Make({Lock(0, kM), Lock(0, kM), Unlock(0, kM), Unlock(0, kM), Lock(1, kM), Lock(1, kM)});
  const HappensBefore order(trace);
  EXPECT_TRUE(order.Ordered(3, 4));
  EXPECT_TRUE(order.Ordered(2, 4));  // through program order
  // Not well-formed, to see the rule itself: thread 1 locks while thread 0 still holds.
  EXPECT_EQ(Find({Lock(0, kM), Lock(0, kM), Write(0, kX), Unlock(0, kM), Lock(1, kM), Write(1, kX)}),
            (Verdict{{5, kX}}));
  EXPECT_EQ(Find({Lock(1, kM), Lock(0, kM), Write(0, kX), Unlock(0, kM), Lock(1, kM), Write(1, kX)}),
            (Verdict{{5, kX}}));
}

TEST(OracleTest, CreatingOrDestroyingALockForgets) {
  for (EventKind kind : {EventKind::kLockCreate, EventKind::kLockDestroy}) {
    EXPECT_EQ(Find({Lock(0, kM), Write(0, kX), Unlock(0, kM), On(kind, 2, kM), Lock(1, kM), Write(1, kX)}),
              (Verdict{{5, kX}}));
    EXPECT_EQ(Find({Lock(0, kM), Write(0, kX), Unlock(0, kM), On(kind, 2, kN), Lock(1, kM), Write(1, kX)}), kSilent);
  }
}

// ---- Signals and barriers

TEST(OracleTest, EverySignalIsOrderedBeforeEveryLaterWait) {
  EXPECT_EQ(Find({Write(0, kX), Signal(0, kM), Signal(1, kM), Wait(2, kM), Write(2, kX)}), kSilent);
  EXPECT_EQ(Find({Write(0, kX), Signal(0, kM), Wait(2, kM), Wait(1, kM), Write(1, kX)}), kSilent);
  EXPECT_EQ(Find({Write(0, kX), Signal(0, kM), Wait(2, kN), Write(2, kX)}), (Verdict{{3, kX}}));
  EXPECT_EQ(Find({Wait(2, kM), Write(0, kX), Signal(0, kM), Write(2, kX)}), (Verdict{{3, kX}}));
}

TEST(OracleTest, BarrierOrdersArrivalsBeforeLeavesOfItsPhase) {
  EXPECT_EQ(Find({Write(0, kX), Arrive(0, kM, 2), Arrive(1, kM, 2), Leave(1, kM, 2), Write(1, kX)}), kSilent);
  // After the leaves nothing is ordered.
  EXPECT_EQ(Find({Arrive(0, kM, 2), Arrive(1, kM, 2), Leave(1, kM, 2), Leave(0, kM, 2), Write(0, kX), Write(1, kX)}),
            (Verdict{{5, kX}}));
}

TEST(OracleTest, BarrierPhasesAreSeparate) {
  // Threads 0 and 1 make phase 0; 2 and 3 make phase 1. Nothing leads from phase 0 to thread 2, nor from
  // phase 1 to thread 1, which leaves its own phase late.
  EXPECT_EQ(Find({Write(0, kX), Arrive(0, kM, 2), Arrive(1, kM, 2), Arrive(2, kM, 2), Arrive(3, kM, 2), Leave(2, kM, 2),
                  Write(2, kX)}),
            (Verdict{{6, kX}}));
  EXPECT_EQ(Find({Arrive(0, kM, 2), Arrive(1, kM, 2), Write(2, kX), Arrive(2, kM, 2), Arrive(3, kM, 2), Leave(1, kM, 2),
                  Write(1, kX)}),
            (Verdict{{6, kX}}));
  // A thread that takes part in both carries the order over.
  EXPECT_EQ(Find({Write(0, kX), Arrive(0, kM, 2), Arrive(1, kM, 2), Leave(1, kM, 2), Arrive(1, kM, 2), Arrive(2, kM, 2),
                  Leave(2, kM, 2), Write(2, kX)}),
            kSilent);
}

// ---- Atomics: litmus tests. Thread 0 writes x and sends, thread 1 receives and reads x.

TEST(OracleTest, MessagePassingNeedsReleaseAndAcquire) {
  for (MemoryOrder store : {kRelaxed, kRelease, kSeqCst}) {
    for (MemoryOrder load : {kRelaxed, kAcquire, kSeqCst}) {
      const bool ordered = store != kRelaxed && load != kRelaxed;
      EXPECT_EQ(Find({Write(0, kX), Store(0, kF, store), Load(1, kF, load), Read(1, kX)}),
                ordered ? kSilent : (Verdict{{3, kX}}));
    }
  }
}

TEST(OracleTest, ALoadReadsTheLatestStoreOfItsOwnObject) {
  EXPECT_EQ(Find({Write(0, kX), Store(0, kF, kRelease), Load(1, kG, kAcquire), Read(1, kX)}), (Verdict{{3, kX}}));
  EXPECT_EQ(Find({Load(1, kF, kAcquire), Write(0, kX), Store(0, kF, kRelease), Read(1, kX)}), (Verdict{{3, kX}}));
  // The address alone names the object: a part of it at the same address is the same object, another part is
  // not.
  EXPECT_EQ(Find({Write(0, kX), Store(0, kF, kRelease, 8), Load(1, kF, kAcquire, 4), Read(1, kX)}), kSilent);
  EXPECT_EQ(Find({Write(0, kX), Store(0, kF, kRelease, 8), Load(1, kF + 4, kAcquire, 4), Read(1, kX)}),
            (Verdict{{3, kX}}));
}

TEST(OracleTest, ReadModifyWritesOfAnyThreadExtendAReleaseSequence) {
  EXPECT_EQ(Find({Write(0, kX), Store(0, kF, kRelease), Rmw(2, kF, kRelaxed), Rmw(3, kF, kRelaxed),
                  Load(1, kF, kAcquire), Read(1, kX)}),
            kSilent);
}

TEST(OracleTest, ARelaxedStoreOfAnotherThreadEndsAReleaseSequence) {
  EXPECT_EQ(Find({Write(0, kX), Store(0, kF, kRelease), Store(2, kF, kRelaxed), Load(1, kF, kAcquire), Read(1, kX)}),
            (Verdict{{4, kX}}));
  // And a later read-modify-write does not mend it.
  EXPECT_EQ(Find({Write(0, kX), Store(0, kF, kRelease), Store(2, kF, kRelaxed), Rmw(2, kF, kRelaxed),
                  Load(1, kF, kAcquire), Read(1, kX)}),
            (Verdict{{5, kX}}));
}

TEST(OracleTest, ARelaxedStoreOfTheSameThreadEndsItToo) {  // since C++20 (P0982)
  EXPECT_EQ(Find({Write(0, kX), Store(0, kF, kRelease), Store(0, kF, kRelaxed), Load(1, kF, kAcquire), Read(1, kX)}),
            (Verdict{{4, kX}}));
}

TEST(OracleTest, AReleaseStoreReplacesTheEarlierOne) {
  EXPECT_EQ(Find({Write(0, kX), Store(0, kF, kRelease), Store(2, kF, kRelease), Load(1, kF, kAcquire), Read(1, kX)}),
            (Verdict{{4, kX}}));
}

TEST(OracleTest, AReleasingReadModifyWriteJoinsTheEarlierOne) {
  EXPECT_EQ(Find({Write(0, kX), Write(2, kY), Store(0, kF, kRelease), Rmw(2, kF, kRelease), Load(1, kF, kAcquire),
                  Read(1, kX), Read(1, kY)}),
            kSilent);
}

TEST(OracleTest, AnAcquiringReadModifyWriteIsItselfOrdered) {
  // Thread 0 initializes the flag with a plain write. The access of the read-modify-write comes after the
  // acquire.
  EXPECT_EQ(Find({Write(0, kG, 4), Store(0, kF, kRelease), Rmw(1, kF, kAcquire), Rmw(1, kG, kRelaxed)}), kSilent);
  EXPECT_EQ(Find({Write(0, kF, 4), Store(0, kF, kRelease), Rmw(1, kF, kAcqRel)}), kSilent);
  EXPECT_EQ(Find({Write(0, kF), Store(0, kF, kRelease), Rmw(1, kF, kRelaxed)}), (Verdict{{2, kF}}));
}

TEST(OracleTest, AReadModifyWriteThatReleasesOnlyDoesNotAcquire) {
  EXPECT_EQ(Find({Write(0, kX), Store(0, kF, kRelease), Rmw(1, kF, kRelease), Read(1, kX)}), (Verdict{{3, kX}}));
  EXPECT_EQ(Find({Write(0, kX), Rmw(0, kF, kAcquire), Load(1, kF, kAcquire), Read(1, kX)}), (Verdict{{3, kX}}));
}

TEST(OracleTest, AFailedCompareExchangeReadsOnly) {
  // It acquires with its failure order...
  EXPECT_EQ(Find({Write(0, kX), Store(0, kF, kRelease), Load(1, kF, kAcquire), Read(1, kX)}), kSilent);
  // ...releases nothing, whatever its order, and does not change what others read.
  EXPECT_EQ(Find({Write(2, kX), Load(2, kF, kSeqCst), Load(1, kF, kAcquire), Read(1, kX)}), (Verdict{{3, kX}}));
  EXPECT_EQ(Find({Write(0, kX), Store(0, kF, kRelease), Load(2, kF, kRelaxed), Load(1, kF, kAcquire), Read(1, kX)}),
            kSilent);
}

TEST(OracleTest, PlainWritesDoNotTouchTheReleaseSequence) {
  const auto races = Races({Write(0, kX), Store(0, kF, kRelease), Write(2, kF), Load(1, kF, kAcquire), Read(1, kX)});
  ASSERT_EQ(races.size(), 1u);  // the plain write itself; x stays ordered
  EXPECT_EQ(races[0], (FirstRace{kF, 2, {1}, {1}}));
}

TEST(OracleTest, SequentiallyConsistentOperationsOrderNothingMore) {
  // Store buffering: each thread stores its flag and loads the other's before that is stored.
  EXPECT_EQ(Find({Write(0, kX), Load(0, kG, kSeqCst), Store(0, kF, kSeqCst), Store(1, kG, kSeqCst), Write(1, kX)}),
            (Verdict{{4, kX}}));
}

TEST(OracleTest, ReleaseFenceSynchronizesWithAcquireFence) {
  EXPECT_EQ(Find({Write(0, kX), Fence(0, kRelease), Store(0, kF, kRelaxed), Load(1, kF, kRelaxed), Fence(1, kAcquire),
                  Read(1, kX)}),
            kSilent);
  EXPECT_EQ(Find({Write(0, kX), Fence(0, kSeqCst), Store(0, kF, kRelaxed), Load(1, kF, kRelaxed), Fence(1, kAcqRel),
                  Read(1, kX)}),
            kSilent);
  // Through a hypothetical release sequence: nobody in it releases.
  EXPECT_EQ(Find({Write(0, kX), Fence(0, kRelease), Store(0, kF, kRelaxed), Rmw(2, kF, kRelaxed), Load(1, kF, kRelaxed),
                  Fence(1, kAcquire), Read(1, kX)}),
            kSilent);
  EXPECT_EQ(Find({Write(0, kX), Fence(0, kRelease), Store(0, kF, kRelaxed), Store(2, kF, kRelaxed),
                  Load(1, kF, kRelaxed), Fence(1, kAcquire), Read(1, kX)}),
            (Verdict{{6, kX}}));
}

TEST(OracleTest, ReleaseFenceSynchronizesWithAcquireOperation) {
  EXPECT_EQ(Find({Write(0, kX), Fence(0, kRelease), Store(0, kF, kRelaxed), Load(1, kF, kAcquire), Read(1, kX)}),
            kSilent);
  EXPECT_EQ(Find({Write(0, kX), Fence(0, kRelease), Rmw(0, kF, kRelaxed), Rmw(1, kF, kAcquire), Read(1, kX)}), kSilent);
}

TEST(OracleTest, ReleaseOperationSynchronizesWithAcquireFence) {
  EXPECT_EQ(Find({Write(0, kX), Store(0, kF, kRelease), Load(1, kF, kRelaxed), Fence(1, kAcquire), Read(1, kX)}),
            kSilent);
  EXPECT_EQ(Find({Write(0, kX), Store(0, kF, kRelease), Rmw(1, kF, kRelaxed), Fence(1, kAcquire), Read(1, kX)}),
            kSilent);
}

TEST(OracleTest, AFenceReleasesWhatIsBeforeTheFenceOnly) {
  EXPECT_EQ(Find({Fence(0, kRelease), Write(0, kX), Store(0, kF, kRelaxed), Load(1, kF, kAcquire), Read(1, kX)}),
            (Verdict{{4, kX}}));
  EXPECT_EQ(Find({Write(0, kX), Store(0, kF, kRelaxed), Fence(0, kRelease), Load(1, kF, kAcquire), Read(1, kX)}),
            (Verdict{{4, kX}}));
  // A store long after the fence, with other operations in between, still carries it.
  EXPECT_EQ(Find({Write(0, kX), Fence(0, kRelease), Write(0, kY), Store(0, kG, kRelaxed), Store(0, kF, kRelaxed),
                  Load(1, kF, kAcquire), Read(1, kX), Read(1, kY)}),
            (Verdict{{7, kY}}));
}

TEST(OracleTest, AFenceAcquiresForWhatIsAfterTheFenceOnly) {
  EXPECT_EQ(Find({Write(0, kX), Store(0, kF, kRelease), Load(1, kF, kRelaxed), Read(1, kX), Fence(1, kAcquire)}),
            (Verdict{{3, kX}}));
  EXPECT_EQ(Find({Write(0, kX), Store(0, kF, kRelease), Fence(1, kAcquire), Load(1, kF, kRelaxed), Read(1, kX)}),
            (Verdict{{4, kX}}));
  EXPECT_EQ(Find({Write(0, kX), Store(0, kF, kRelease), Load(1, kF, kRelaxed), Load(1, kG, kRelaxed),
                  Fence(1, kAcquire), Read(1, kX)}),
            kSilent);
}

TEST(OracleTest, FencesOfTheWrongSideDoNothing) {
  EXPECT_EQ(Find({Write(0, kX), Fence(0, kAcquire), Store(0, kF, kRelaxed), Load(1, kF, kAcquire), Read(1, kX)}),
            (Verdict{{4, kX}}));
  EXPECT_EQ(Find({Write(0, kX), Store(0, kF, kRelease), Load(1, kF, kRelaxed), Fence(1, kRelease), Read(1, kX)}),
            (Verdict{{4, kX}}));
}

TEST(OracleTest, FencesOfAnotherThreadDoNothing) {
  EXPECT_EQ(Find({Write(0, kX), Fence(2, kRelease), Store(0, kF, kRelaxed), Load(1, kF, kAcquire), Read(1, kX)}),
            (Verdict{{4, kX}}));
}

TEST(OracleTest, ReleaseSequencesEndWithTheLifetimeOfTheMemory) {
  for (EventKind kind : {EventKind::kAlloc, EventKind::kNewMemory, EventKind::kUnpublish}) {
    const auto races = Find({Write(0, kX), Store(0, kF, kRelease), On(kind, 1, kF, 4), Rmw(1, kF, kRelaxed),
                             Load(1, kF, kAcquire), Read(1, kX)});
    EXPECT_EQ(races, (Verdict{{5, kX}}));
  }
  // A lifetime of other bytes, even of the same object, is not the object's.
  EXPECT_EQ(Find({Write(0, kX), Store(0, kF, kRelease), On(EventKind::kNewMemory, 1, kF + 1, 3), Load(1, kF, kAcquire),
                  Read(1, kX)}),
            kSilent);
}

// ---- Transactions

TEST(OracleTest, TransactionsThatShareAByteAreOrdered) {
  EXPECT_EQ(Find({Write(0, kX), TxWrite(0, kY), Commit(0), TxRead(1, kY), Commit(1), Read(1, kX)}), kSilent);
  EXPECT_EQ(Find({Write(0, kX), TxRead(0, kY), Commit(0), TxRead(1, kY), Commit(1), Read(1, kX)}), kSilent);
  EXPECT_EQ(Find({Write(0, kX), TxWrite(0, kY, 4), Commit(0), TxRead(1, kY + 4, 4), Commit(1), Read(1, kX)}),
            (Verdict{{5, kX}}));
}

TEST(OracleTest, TransactionsDoNotRaceWithEachOther) {
  EXPECT_EQ(Find({TxWrite(0, kX, 4), Commit(0), TxWrite(1, kX + 3, 4), Commit(1)}), kSilent);
}

TEST(OracleTest, ATransactionRacesAtItsCommit) {
  // The footprint is collected before the write of thread 1, but it happens at the commit.
  EXPECT_EQ(Find({TxWrite(0, kX), Write(1, kX), Commit(0)}), (Verdict{{2, kX}}));
  EXPECT_EQ(Find({TxRead(0, kX), Commit(0), Read(1, kX)}), kSilent);
  const auto races = Races({Read(0, kX), TxRead(1, kX), TxWrite(1, kX), Commit(1)});
  ASSERT_EQ(races.size(), 1u);
  EXPECT_EQ(races[0], (FirstRace{kX, 3, {0}, {0}}));
}

TEST(OracleTest, TransactionsShareBytesOfOneLifetimeOnly) {
  EXPECT_EQ(Find({Write(0, kX), TxWrite(0, kY), Commit(0), On(EventKind::kNewMemory, 1, kY, 1), TxRead(1, kY),
                  Commit(1), Read(1, kX)}),
            (Verdict{{6, kX}}));
}

TEST(OracleTest, AFootprintBelongsToTheNextCommitOfItsThread) {
  EXPECT_EQ(Find({TxWrite(0, kX), TxWrite(1, kY), Commit(1), Commit(0), TxRead(0, kY), Commit(0), Read(0, kX)}),
            kSilent);
  EXPECT_EQ(Find({TxWrite(0, kX), TxWrite(1, kY), Commit(1), Commit(0), Read(1, kX)}), (Verdict{{4, kX}}));
}

// ---- Lifetimes

TEST(OracleTest, AllocationForgetsEarlierAccesses) {
  for (EventKind kind : {EventKind::kAlloc, EventKind::kNewMemory, EventKind::kUnpublish}) {
    EXPECT_EQ(Find({Write(0, kX, 8), On(kind, 1, kX, 8), Write(1, kX, 8)}), kSilent);
    // It is a write itself: whoever uses the memory must come after it.
    EXPECT_EQ(Find({On(kind, 1, kX, 2), Read(0, kX)}), (Verdict{{1, kX}}));
    // Only its own bytes.
    EXPECT_EQ(Find({Write(0, kX, 8), On(kind, 1, kX, 4), Write(1, kX + 3, 2)}), (Verdict{{2, kX + 4}}));
  }
}

TEST(OracleTest, FreeRacesWithUnorderedUses) {
  EXPECT_EQ(Find({Alloc(0, kX, 2), Fork(0, 1), Read(1, kX), Free(0, kX, 2)}), (Verdict{{3, kX}}));
  EXPECT_EQ(Find({Alloc(0, kX, 2), Fork(0, 1), Read(1, kX), Join(0, 1), Free(0, kX, 2)}), kSilent);
}

TEST(OracleTest, UseAfterAnUnorderedFreeRacesWithTheFree) {
  EXPECT_EQ(Find({Alloc(0, kX, 1), Fork(0, 1), Free(0, kX, 1), Read(1, kX)}), (Verdict{{3, kX}}));
  // Ordered, it is a bug but no race.
  EXPECT_EQ(Find({Alloc(0, kX, 1), Free(0, kX, 1), Fork(0, 1), Read(1, kX)}), kSilent);
}

TEST(OracleTest, ReusedMemoryStartsAfresh) {
  EXPECT_EQ(Find({Alloc(0, kX, 4), Write(0, kX, 4), Free(0, kX, 4), Alloc(1, kX, 4), Write(1, kX, 4), Free(1, kX, 4)}),
            kSilent);
}

TEST(OracleTest, ARacyByteIsLookedAtAgainInItsNextLifetime) {
  EXPECT_EQ(
      Find({Write(0, kX), Write(1, kX), Write(2, kX), Alloc(0, kX, 1), Write(1, kX), Free(2, kX, 1), Write(0, kX)}),
      (Verdict{{1, kX}, {4, kX}, {6, kX}}));
}

// ---- Annotations

TEST(OracleTest, PublishIsOrderedBeforeLaterAccessesToItsBytes) {
  EXPECT_EQ(Find({Write(0, kX, 4), Publish(0, kX, 4), Read(1, kX, 4)}), kSilent);
  EXPECT_EQ(Find({Write(0, kX, 4), Read(1, kX, 4), Publish(0, kX, 4)}).size(), 4u);
  // One shared byte is enough for the whole access, and the arc goes on with its thread.
  EXPECT_EQ(Find({Write(0, kX, 4), Write(0, kY), Publish(0, kX + 3), Read(1, kX, 4), Read(1, kY)}), kSilent);
  EXPECT_EQ(Find({Write(0, kX, 4), Publish(0, kX + 3), Read(1, kX, 3)}).size(), 3u);
}

TEST(OracleTest, PublishReachesAtomicsCommitsAndFrees) {
  EXPECT_EQ(Find({Write(0, kX, 4), Publish(0, kX, 4), Rmw(1, kX, kRelaxed)}), kSilent);
  EXPECT_EQ(Find({Write(0, kX, 4), Publish(0, kX, 4), TxWrite(1, kX, 4), Commit(1)}), kSilent);
  EXPECT_EQ(Find({Write(0, kX, 4), Publish(0, kX, 4), Free(1, kX, 4)}), kSilent);
}

TEST(OracleTest, PublishEndsWithTheLifetime) {
  for (EventKind kind : {EventKind::kAlloc, EventKind::kFree, EventKind::kNewMemory, EventKind::kUnpublish}) {
    EXPECT_EQ(Find({Write(0, kY), Publish(0, kX), On(kind, 1, kX, 1), Read(1, kX), Read(1, kY)}).contains({4, kY}),
              kind != EventKind::kFree);  // the free itself takes the arc
  }
  // Of two published bytes one lives on.
  EXPECT_EQ(Find({Write(0, kY), Publish(0, kX, 2), On(EventKind::kNewMemory, 1, kX, 1), Read(1, kX, 2), Read(1, kY)}),
            kSilent);
}

TEST(OracleTest, IgnoredAccessesAreNone) {
  const auto on = [](EventKind kind) { return On(kind, 1); };
  using enum EventKind;
  EXPECT_EQ(Find({Write(0, kX), on(kIgnoreReadsBegin), Read(1, kX), on(kIgnoreReadsEnd)}), kSilent);
  EXPECT_EQ(Find({Write(0, kX), on(kIgnoreReadsBegin), Write(1, kX)}), (Verdict{{2, kX}}));
  EXPECT_EQ(Find({Write(0, kX), on(kIgnoreWritesBegin), Write(1, kX), Write(0, kX)}), kSilent);
  EXPECT_EQ(Find({Write(0, kX), on(kIgnoreWritesBegin), Read(1, kX)}), (Verdict{{2, kX}}));
  // It counts, for its own thread only, and ends.
  EXPECT_EQ(Find({Write(0, kX), on(kIgnoreReadsBegin), on(kIgnoreReadsBegin), on(kIgnoreReadsEnd), Read(1, kX),
                  on(kIgnoreReadsEnd), Read(1, kX)}),
            (Verdict{{6, kX}}));
  EXPECT_EQ(Find({Write(0, kX), on(kIgnoreReadsBegin), Read(2, kX)}), (Verdict{{2, kX}}));
  // Atomic loads are reads, stores and read-modify-writes are writes.
  EXPECT_EQ(Find({Write(0, kF), on(kIgnoreReadsBegin), Load(1, kF, kRelaxed)}), kSilent);
  EXPECT_EQ(Find({Write(0, kF), on(kIgnoreReadsBegin), Rmw(1, kF, kRelaxed)}), (Verdict{{2, kF}}));
  EXPECT_EQ(Find({Write(0, kF), on(kIgnoreWritesBegin), Rmw(1, kF, kRelaxed), Store(1, kF, kRelaxed)}), kSilent);
  // Transactions too.
  EXPECT_EQ(Find({Write(0, kX), on(kIgnoreWritesBegin), TxWrite(1, kX), Commit(1)}), kSilent);
  EXPECT_EQ(Find({Write(0, kX), on(kIgnoreWritesBegin), TxRead(1, kX), Commit(1)}), (Verdict{{3, kX}}));
}

TEST(OracleTest, IgnoredAccessesStillSynchronizeButTakeNoPublication) {
  using enum EventKind;
  EXPECT_EQ(Find({Write(0, kX), Store(0, kF, kRelease), On(kIgnoreReadsBegin, 1), Load(1, kF, kAcquire),
                  On(kIgnoreReadsEnd, 1), Read(1, kX)}),
            kSilent);
  EXPECT_EQ(Find({Write(0, kX), TxWrite(0, kY), Commit(0), On(kIgnoreReadsBegin, 1), TxRead(1, kY), Commit(1),
                  On(kIgnoreReadsEnd, 1), Read(1, kX)}),
            kSilent);
  EXPECT_EQ(
      Find({Write(0, kX), Publish(0, kY), On(kIgnoreReadsBegin, 1), Read(1, kY), On(kIgnoreReadsEnd, 1), Read(1, kX)}),
      (Verdict{{5, kX}}));
}

TEST(OracleTest, AllocationAndFreeAreNeverIgnored) {
  using enum EventKind;
  EXPECT_EQ(Find({On(kIgnoreWritesBegin, 0), Alloc(0, kX, 1), Read(1, kX)}), (Verdict{{2, kX}}));
  EXPECT_EQ(Find({Read(1, kX), On(kIgnoreWritesBegin, 0), Free(0, kX, 1)}), (Verdict{{2, kX}}));
}

TEST(OracleTest, BenignBytesAreSilentUntilTheirNextLifetime) {
  const Event benign = On(EventKind::kBenignRace, 2, kX, 1);
  EXPECT_EQ(Find({benign, Write(0, kX), Write(1, kX)}), kSilent);
  EXPECT_EQ(Find({Write(0, kX), benign, Write(1, kX)}), kSilent);
  EXPECT_EQ(Find({benign, Write(0, kX, 2), Write(1, kX, 2)}), (Verdict{{2, kX + 1}}));
  EXPECT_EQ(Find({benign, Alloc(0, kX, 1), Write(1, kX)}), (Verdict{{2, kX}}));
  EXPECT_EQ(Find({Write(1, kX, 2), benign, Free(0, kX, 2), Write(1, kX)}), (Verdict{{2, kX + 1}, {3, kX}}));
}

TEST(OracleTest, BenignBytesAreOrderedLikeOthers) {
  EXPECT_EQ(Find({Write(0, kY), On(EventKind::kBenignRace, 2, kX, 1), Publish(0, kX), Read(1, kX), Read(1, kY)}),
            kSilent);
}

TEST(OracleTest, OtherAnnotationsChangeNothing) {
  EXPECT_EQ(Find({Write(0, kX), On(EventKind::kExpectRace, 0, kX, 1), On(EventKind::kPureHbMutex, 0, kM),
                  On(EventKind::kFunctionEnter, 0, 0), On(EventKind::kThreadName, 0, 0),
                  On(EventKind::kFunctionExit, 0), On(EventKind::kThreadEnd, 0), Write(1, kX)}),
            (Verdict{{7, kX}}));
}

// ---- The relation itself

TEST(OracleTest, HappensBeforeIsTransitiveAndIrreflexive) {
  Trace trace;
  for (uint32_t thread = 0; thread < 40; ++thread) {  // a chain of 120 events, two words of bits
    if (thread > 0) trace.events.push_back(Wait(thread, thread));
    trace.events.push_back(Write(thread, kX));
    trace.events.push_back(Signal(thread, thread + 1));
  }
  const HappensBefore order(trace);
  for (size_t a = 0; a < trace.events.size(); ++a) {
    for (size_t b = 0; b < trace.events.size(); ++b) EXPECT_EQ(order.Ordered(a, b), a < b);
  }
  EXPECT_TRUE(FindRaces(trace).empty());
}

TEST(OracleTest, EmptyTraceHasNoRaces) { EXPECT_EQ(Find({}), kSilent); }

}  // namespace
}  // namespace redflag::oracle
