#include "trace/checker.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace redflag {
namespace {

using Operand = TraceChecker::Operand;

constexpr Tid kMain{0};
constexpr Tid kOther{1};
constexpr Tid kThird{2};
constexpr uint32_t kM = 5;
constexpr uint32_t kB = 9;

Event Lock(Tid thread, uint32_t lock, LockMode mode = LockMode::kExclusive) {
  return Event::OnObject(EventKind::kLock, thread, lock, mode);
}
Event Unlock(Tid thread, uint32_t lock, LockMode mode = LockMode::kExclusive) {
  return Event::OnObject(EventKind::kUnlock, thread, lock, mode);
}
Event Barrier(EventKind kind, Tid thread, uint64_t parties) {
  Event event = Event::OnObject(kind, thread, kB);
  event.size = parties;
  return event;
}
Event Arrive(Tid thread, uint64_t parties = 2) { return Barrier(EventKind::kBarrierArrive, thread, parties); }
Event Leave(Tid thread, uint64_t parties = 2) { return Barrier(EventKind::kBarrierLeave, thread, parties); }
Event Memory(EventKind kind, uint64_t addr, uint64_t size, Tid thread = kMain) {
  return Event::OnMemory(kind, thread, Addr{addr}, size);
}
Event Atomic(EventKind kind, MemoryOrder order, uint64_t size = 4) {
  return Event::OnMemory(kind, kMain, Addr{64}, size, order);
}
Event Bare(EventKind kind, Tid thread = kMain) { return Event::OnThread(kind, thread); }
Event Fork(Tid thread, Tid child) { return Event::OnObject(EventKind::kThreadFork, thread, Raw(child)); }
Event Join(Tid thread, Tid child) { return Event::OnObject(EventKind::kThreadJoin, thread, Raw(child)); }

// Three initial threads and no names.
class CheckerTest : public ::testing::Test {
 protected:
  CheckerTest() {
    for (Tid thread : {kMain, kOther, kThird}) checker_.AddInitialThread(thread);
  }

  void Accepts(const Event& event) {
    auto problem = checker_.Check(event);
    EXPECT_FALSE(problem.has_value()) << problem->message;
  }
  template <class... Events>
  void AcceptsAll(const Events&... events) {
    (Accepts(events), ...);
  }
  void Refuses(const Event& event, Operand operand, const std::string& message) {
    auto problem = checker_.Check(event);
    ASSERT_TRUE(problem.has_value()) << "accepted, where this was expected: " << message;
    EXPECT_EQ(problem->message, message);
    EXPECT_EQ(problem->operand, operand);
  }

  TraceChecker checker_;
};

// Threads.

TEST_F(CheckerTest, AThreadMustExistBeforeItActs) {
  Refuses(Memory(EventKind::kRead, 64, 4, Tid{7}), Operand::kThread,
          "thread T7 does not exist: it is neither initial nor forked");
  AcceptsAll(Fork(kMain, Tid{7}), Memory(EventKind::kRead, 64, 4, Tid{7}));
}

TEST_F(CheckerTest, AnEndedThreadDoesNothing) {
  Accepts(Bare(EventKind::kThreadEnd, kOther));
  Refuses(Memory(EventKind::kRead, 64, 4, kOther), Operand::kThread, "thread T1 has ended");
  Refuses(Bare(EventKind::kThreadEnd, kOther), Operand::kThread, "thread T1 has ended");
}

TEST_F(CheckerTest, JoiningARunningThreadEndsIt) {
  Accepts(Join(kMain, kOther));
  Refuses(Memory(EventKind::kRead, 64, 4, kOther), Operand::kThread, "thread T1 has been joined");
}

TEST_F(CheckerTest, AnEndedThreadCanBeJoined) { AcceptsAll(Bare(EventKind::kThreadEnd, kOther), Join(kMain, kOther)); }

TEST_F(CheckerTest, AThreadIsJoinedOnlyOnce) {
  Accepts(Join(kMain, kOther));
  Refuses(Join(kThird, kOther), Operand::kObject, "thread T1 has been joined already");
}

TEST_F(CheckerTest, AnUnknownThreadCannotBeJoined) {
  Refuses(Join(kMain, Tid{8}), Operand::kObject, "thread T8 does not exist: it is neither initial nor forked");
}

TEST_F(CheckerTest, AThreadCannotForkOrJoinItself) {
  Refuses(Fork(kMain, kMain), Operand::kObject, "thread T0 cannot fork itself");
  Refuses(Join(kMain, kMain), Operand::kObject, "thread T0 cannot join itself");
}

TEST_F(CheckerTest, AThreadIsForkedOnlyOnceEvenAfterItIsGone) {
  Refuses(Fork(kMain, kOther), Operand::kObject, "thread T1 exists already");
  Accepts(Bare(EventKind::kThreadEnd, kOther));
  Refuses(Fork(kMain, kOther), Operand::kObject, "thread T1 exists already");
  Accepts(Join(kMain, kOther));
  Refuses(Fork(kMain, kOther), Operand::kObject, "thread T1 exists already");
}

TEST_F(CheckerTest, AForkMustNameAThread) {
  Refuses(Fork(kMain, kNoThread), Operand::kObject, "the fork names no thread");
}

TEST_F(CheckerTest, AThreadInABarrierOrTransactionCannotBeJoined) {
  Accepts(Arrive(kOther));
  Refuses(Join(kMain, kOther), Operand::kObject,
          "thread T1 cannot have ended: it has arrived at barrier #9 and not left it");
  Accepts(Memory(EventKind::kTxRead, 64, 4, kThird));
  Refuses(Join(kMain, kThird), Operand::kObject, "thread T2 cannot have ended: it is in a transaction");
}

// Locks.

TEST_F(CheckerTest, OnlyOneThreadHoldsALockForWriting) {
  Accepts(Lock(kMain, kM));
  Refuses(Lock(kOther, kM), Operand::kObject, "lock #5 cannot be taken for writing: it is held for writing by T0");
  Refuses(Lock(kOther, kM, LockMode::kShared), Operand::kObject,
          "lock #5 cannot be taken for reading: it is held for writing by T0");
  AcceptsAll(Unlock(kMain, kM), Lock(kOther, kM));
}

TEST_F(CheckerTest, ReadersShareALockAndKeepWritersOut) {
  AcceptsAll(Lock(kMain, kM, LockMode::kShared), Lock(kOther, kM, LockMode::kShared));
  Refuses(Lock(kThird, kM), Operand::kObject, "lock #5 cannot be taken for writing: it is held for reading by T0");
  Accepts(Unlock(kMain, kM, LockMode::kShared));
  Refuses(Lock(kThird, kM), Operand::kObject, "lock #5 cannot be taken for writing: it is held for reading by T1");
  AcceptsAll(Unlock(kOther, kM, LockMode::kShared), Lock(kThird, kM));
}

TEST_F(CheckerTest, OnlyAHolderUnlocks) {
  Refuses(Unlock(kMain, kM), Operand::kObject, "lock #5 is not held by any thread");
  Accepts(Lock(kOther, kM));
  Refuses(Unlock(kMain, kM), Operand::kObject, "lock #5 is not held by T0: it is held for writing by T1");
}

TEST_F(CheckerTest, ALockIsReleasedInTheModeItIsHeldIn) {
  Accepts(Lock(kMain, kM));
  Refuses(Unlock(kMain, kM, LockMode::kShared), Operand::kObject,
          "thread T0 holds lock #5 for writing, not for reading");
  AcceptsAll(Unlock(kMain, kM), Lock(kMain, kM, LockMode::kShared));
  Refuses(Unlock(kMain, kM), Operand::kObject, "thread T0 holds lock #5 for reading, not for writing");
}

TEST_F(CheckerTest, LocksNestInOneMode) {
  AcceptsAll(Lock(kMain, kM), Lock(kMain, kM), Unlock(kMain, kM));
  Refuses(Lock(kOther, kM), Operand::kObject, "lock #5 cannot be taken for writing: it is held for writing by T0");
  AcceptsAll(Unlock(kMain, kM), Lock(kOther, kM));
}

TEST_F(CheckerTest, AThreadDoesNotMixModes) {
  Accepts(Lock(kMain, kM, LockMode::kShared));
  Refuses(Lock(kMain, kM), Operand::kObject,
          "thread T0 holds lock #5 for reading and cannot take it for writing as well");
}

TEST_F(CheckerTest, NestingOfOneLockHasALimit) {
  for (uint64_t i = 0; i < TraceChecker::kMaxLockDepth; ++i) Accepts(Lock(kMain, kM));
  Refuses(Lock(kMain, kM), Operand::kObject, "thread T0 holds lock #5 1000000 times, the most that is allowed");
}

TEST_F(CheckerTest, TheNumberOfHeldLocksHasALimit) {
  for (uint32_t i = 0; i < TraceChecker::kMaxHeldLocks; ++i) Accepts(Lock(kMain, 100 + i));
  Refuses(Lock(kMain, kM), Operand::kObject, "thread T0 holds 4096 locks, the most that is allowed");
  AcceptsAll(Lock(kMain, 100), Unlock(kMain, 101), Lock(kMain, kM));
}

TEST_F(CheckerTest, ALockOutlivesItsHolder) {
  AcceptsAll(Lock(kOther, kM), Bare(EventKind::kThreadEnd, kOther));
  Refuses(Lock(kMain, kM), Operand::kObject,
          "lock #5 cannot be taken for writing: it is held for writing by T1, which has ended");
  Accepts(Join(kMain, kOther));
  Refuses(Lock(kMain, kM), Operand::kObject,
          "lock #5 cannot be taken for writing: it is held for writing by T1, which has ended");
}

TEST_F(CheckerTest, AHeldLockIsNotDestroyed) {
  Accepts(Lock(kOther, kM));
  Event destroy = Event::OnObject(EventKind::kLockDestroy, kMain, kM);
  Refuses(destroy, Operand::kObject, "lock #5 cannot be destroyed: it is held for writing by T1");
  AcceptsAll(Unlock(kOther, kM), destroy);
}

TEST_F(CheckerTest, ALockIsCreatedAnewOnlyOnceItsHoldersHaveEnded) {
  Event create = Event::OnObject(EventKind::kLockCreate, kMain, kM);
  AcceptsAll(create, Lock(kOther, kM));
  Refuses(create, Operand::kObject, "lock #5 cannot be created: it is held for writing by T1");
  AcceptsAll(Bare(EventKind::kThreadEnd, kOther), create, Lock(kMain, kM));
}

TEST_F(CheckerTest, ItKnowsWhoHoldsALock) {
  EXPECT_FALSE(checker_.Holds(kMain, SyncId{kM}));
  Accepts(Lock(kMain, kM, LockMode::kShared));
  EXPECT_TRUE(checker_.Holds(kMain, SyncId{kM}));
  EXPECT_FALSE(checker_.Holds(kOther, SyncId{kM}));
}

TEST_F(CheckerTest, AnUnknownLockModeIsRefused) {
  Refuses(Lock(kMain, kM, LockMode{2}), Operand::kVerb, "unknown lock mode 2");
  Refuses(Unlock(kMain, kM, LockMode{2}), Operand::kVerb, "unknown lock mode 2");
}

// Objects are one kind of thing.

TEST_F(CheckerTest, AnObjectIsOneKindOfThing) {
  AcceptsAll(Lock(kMain, kM), Event::OnObject(EventKind::kSignal, kMain, 6));
  Refuses(Event::OnObject(EventKind::kWait, kMain, kM), Operand::kObject,
          "object #5 has been used as a lock, it cannot be a signal");
  Refuses(Lock(kMain, 6), Operand::kObject, "object #6 has been used as a signal, it cannot be a lock");
  Refuses(Event::OnObject(EventKind::kPureHbMutex, kMain, 6), Operand::kObject,
          "object #6 has been used as a signal, it cannot be a lock");
  Event arrive = Event::OnObject(EventKind::kBarrierArrive, kMain, kM);
  arrive.size = 2;
  Refuses(arrive, Operand::kObject, "object #5 has been used as a lock, it cannot be a barrier");
  Accepts(Arrive(kMain, 1));
  Refuses(Lock(kOther, kB), Operand::kObject, "object #9 has been used as a barrier, it cannot be a lock");
}

TEST_F(CheckerTest, ADestroyedLockMayComeBackAsSomethingElse) {
  AcceptsAll(Lock(kMain, kM), Unlock(kMain, kM), Event::OnObject(EventKind::kLockDestroy, kMain, kM),
             Event::OnObject(EventKind::kSignal, kMain, kM));
}

TEST_F(CheckerTest, AnEventOnAnObjectMustNameOne) {
  Refuses(Lock(kMain, Raw(kNoSync)), Operand::kObject, "the event names no object");
}

// Barriers.

TEST_F(CheckerTest, AThreadLeavesABarrierWhenAllHaveArrived) {
  Accepts(Arrive(kMain));
  Refuses(Leave(kMain), Operand::kVerb, "thread T0 cannot leave barrier #9: 1 of 2 threads have arrived");
  AcceptsAll(Arrive(kOther), Leave(kMain), Leave(kOther));
}

TEST_F(CheckerTest, AThreadInABarrierDoesNothingElse) {
  AcceptsAll(Arrive(kMain), Arrive(kOther));
  const std::string message = "thread T0 has arrived at barrier #9 and must leave it before it does anything else";
  Refuses(Memory(EventKind::kRead, 64, 4), Operand::kVerb, message);
  Refuses(Arrive(kMain), Operand::kVerb, message);
  Refuses(Bare(EventKind::kThreadEnd), Operand::kVerb, message);
  Event leave_another = Event::OnObject(EventKind::kBarrierLeave, kMain, kB + 1);
  leave_another.size = 2;
  Refuses(leave_another, Operand::kVerb, message);
}

TEST_F(CheckerTest, LeavingNeedsAnArrival) {
  Refuses(Leave(kMain), Operand::kVerb, "thread T0 has not arrived at barrier #9");
  AcceptsAll(Arrive(kMain, 1), Leave(kMain, 1));
  Refuses(Leave(kMain, 1), Operand::kVerb, "thread T0 has not arrived at barrier #9");
}

TEST_F(CheckerTest, AFastThreadMayArriveForTheNextPhase) {
  AcceptsAll(Arrive(kMain), Arrive(kOther), Leave(kMain), Arrive(kMain));
  Refuses(Leave(kMain), Operand::kVerb, "thread T0 cannot leave barrier #9: 1 of 2 threads have arrived");
  AcceptsAll(Leave(kOther), Arrive(kOther), Leave(kOther), Leave(kMain));
}

TEST_F(CheckerTest, ABarrierKeepsItsNumberOfParties) {
  Accepts(Arrive(kMain));
  Refuses(Arrive(kOther, 3), Operand::kObject, "barrier #9 has 2 parties, not 3");
  Accepts(Arrive(kOther));
  Refuses(Leave(kOther, 3), Operand::kObject, "barrier #9 has 2 parties, not 3");
}

TEST_F(CheckerTest, TheNumberOfPartiesHasLimits) {
  Refuses(Arrive(kMain, 0), Operand::kObject, "barrier #9 has 0 parties: 1 to 65536 are allowed");
  Refuses(Arrive(kMain, 65537), Operand::kObject, "barrier #9 has 65537 parties: 1 to 65536 are allowed");
  Accepts(Arrive(kMain, 65536));
}

// Transactions.

TEST_F(CheckerTest, ATransactionIsNotInterruptedByItsOwnThread) {
  Accepts(Memory(EventKind::kTxRead, 64, 4));
  Refuses(Memory(EventKind::kWrite, 64, 4), Operand::kVerb,
          "thread T0 is in a transaction and must commit it before it does anything else");
  AcceptsAll(Memory(EventKind::kWrite, 64, 4, kOther), Memory(EventKind::kTxWrite, 64, 4), Bare(EventKind::kTxCommit),
             Memory(EventKind::kWrite, 64, 4));
}

TEST_F(CheckerTest, AnEmptyTransactionIsRefused) {
  Refuses(Bare(EventKind::kTxCommit), Operand::kVerb, "the transaction is empty: it reads and writes nothing");
  AcceptsAll(Memory(EventKind::kTxRead, 64, 4), Bare(EventKind::kTxCommit));
  Refuses(Bare(EventKind::kTxCommit), Operand::kVerb, "the transaction is empty: it reads and writes nothing");
}

// Memory.

TEST_F(CheckerTest, LiveAllocationsDoNotOverlap) {
  Accepts(Memory(EventKind::kAlloc, 100, 10));
  const std::string tail = " overlaps the live allocation 0x64:10";
  Refuses(Memory(EventKind::kAlloc, 109, 1), Operand::kMemory, "0x6d:1" + tail);
  Refuses(Memory(EventKind::kAlloc, 91, 10), Operand::kMemory, "0x5b:10" + tail);
  Refuses(Memory(EventKind::kAlloc, 90, 30), Operand::kMemory, "0x5a:30" + tail);
  AcceptsAll(Memory(EventKind::kAlloc, 110, 1), Memory(EventKind::kAlloc, 90, 10));
}

TEST_F(CheckerTest, AFreeNamesALiveAllocationExactly) {
  Accepts(Memory(EventKind::kAlloc, 100, 10));
  Refuses(Memory(EventKind::kFree, 101, 9), Operand::kMemory, "no live allocation begins at 0x65");
  Refuses(Memory(EventKind::kFree, 100, 9), Operand::kMemory, "the allocation at 0x64 has 10 bytes, not 9");
  Accepts(Memory(EventKind::kFree, 100, 10, kOther));
  Refuses(Memory(EventKind::kFree, 100, 10), Operand::kMemory, "no live allocation begins at 0x64");
  Accepts(Memory(EventKind::kAlloc, 95, 10));
}

TEST_F(CheckerTest, AccessesMayGoToFreedAndUnknownMemory) {
  AcceptsAll(Memory(EventKind::kAlloc, 100, 10), Memory(EventKind::kFree, 100, 10), Memory(EventKind::kWrite, 100, 10),
             Memory(EventKind::kRead, 5000, 1));
}

TEST_F(CheckerTest, NewMemoryCarvesUpAnAllocationOrKeepsClear) {
  Accepts(Memory(EventKind::kAlloc, 100, 10));
  AcceptsAll(Memory(EventKind::kNewMemory, 100, 10), Memory(EventKind::kNewMemory, 102, 4),
             Memory(EventKind::kNewMemory, 102, 4), Memory(EventKind::kNewMemory, 200, 4));
  const std::string tail = " lies partly inside the live allocation 0x64:10";
  Refuses(Memory(EventKind::kNewMemory, 98, 4), Operand::kMemory, "0x62:4" + tail);
  Refuses(Memory(EventKind::kNewMemory, 108, 4), Operand::kMemory, "0x6c:4" + tail);
}

TEST_F(CheckerTest, ItKnowsWhichEventMadeAnAllocation) {
  AcceptsAll(Memory(EventKind::kRead, 100, 10), Memory(EventKind::kAlloc, 100, 10));
  EXPECT_EQ(checker_.AllocatedBy(Addr{100}), 1u);
  EXPECT_EQ(checker_.AllocatedBy(Addr{101}), std::nullopt);
}

TEST_F(CheckerTest, SizesHaveLimits) {
  for (EventKind kind : {EventKind::kRead, EventKind::kWrite, EventKind::kTxRead, EventKind::kTxWrite}) {
    Refuses(Memory(kind, 64, 0), Operand::kMemory, "an access has 1 to 1048576 bytes, not 0");
    Refuses(Memory(kind, 64, (1 << 20) + 1), Operand::kMemory, "an access has 1 to 1048576 bytes, not 1048577");
  }
  Accepts(Memory(EventKind::kRead, 64, 1 << 20));
  for (EventKind kind : {EventKind::kAlloc, EventKind::kFree, EventKind::kNewMemory, EventKind::kBenignRace,
                         EventKind::kExpectRace, EventKind::kPublish, EventKind::kUnpublish}) {
    Refuses(Memory(kind, 64, 0), Operand::kMemory, "a range of memory has 1 to 1099511627776 bytes, not 0");
    Refuses(Memory(kind, 64, (uint64_t{1} << 40) + 1), Operand::kMemory,
            "a range of memory has 1 to 1099511627776 bytes, not 1099511627777");
  }
  Accepts(Memory(EventKind::kAlloc, 64, uint64_t{1} << 40));
  for (uint64_t size : {1, 2, 4, 8, 16}) Accepts(Atomic(EventKind::kAtomicRmw, MemoryOrder::kAcqRel, size));
  for (uint64_t size : {0, 3, 32}) {
    Refuses(Atomic(EventKind::kAtomicLoad, MemoryOrder::kRelaxed, size), Operand::kMemory,
            "an atomic access has 1, 2, 4, 8 or 16 bytes, not " + std::to_string(size));
  }
}

TEST_F(CheckerTest, MemoryEndsWithTheAddressSpace) {
  Refuses(Memory(EventKind::kRead, UINT64_MAX - 3, 4), Operand::kMemory,
          "0xfffffffffffffffc:4 goes past the end of the address space");
  Accepts(Memory(EventKind::kRead, UINT64_MAX - 4, 4));
}

// Memory orders.

TEST_F(CheckerTest, MemoryOrdersFitTheirOperation) {
  using enum MemoryOrder;
  for (MemoryOrder order : {kRelaxed, kAcquire, kSeqCst}) Accepts(Atomic(EventKind::kAtomicLoad, order));
  for (MemoryOrder order : {kRelease, kAcqRel}) {
    Refuses(Atomic(EventKind::kAtomicLoad, order), Operand::kOrder, "a load is relaxed, acquire or seq_cst");
  }
  for (MemoryOrder order : {kRelaxed, kRelease, kSeqCst}) Accepts(Atomic(EventKind::kAtomicStore, order));
  for (MemoryOrder order : {kAcquire, kAcqRel}) {
    Refuses(Atomic(EventKind::kAtomicStore, order), Operand::kOrder, "a store is relaxed, release or seq_cst");
  }
  for (MemoryOrder order : {kRelaxed, kAcquire, kRelease, kAcqRel, kSeqCst}) {
    Accepts(Atomic(EventKind::kAtomicRmw, order));
  }
  for (MemoryOrder order : {kAcquire, kRelease, kAcqRel, kSeqCst}) {
    Accepts(Event::OnThread(EventKind::kFence, kMain, order));
  }
  Refuses(Event::OnThread(EventKind::kFence, kMain, kRelaxed), Operand::kOrder,
          "a relaxed fence does nothing: use acquire, release, acq_rel or seq_cst");
  Refuses(Atomic(EventKind::kAtomicRmw, MemoryOrder{5}), Operand::kOrder, "unknown memory order 5");
}

// Functions and ignored regions.

TEST_F(CheckerTest, AFunctionIsEnteredBeforeItIsExited) {
  Refuses(Bare(EventKind::kFunctionExit), Operand::kVerb, "thread T0 is in no function that it could exit");
  AcceptsAll(Event::OnObject(EventKind::kFunctionEnter, kMain, 0), Bare(EventKind::kFunctionExit));
  Refuses(Bare(EventKind::kFunctionExit), Operand::kVerb, "thread T0 is in no function that it could exit");
}

TEST_F(CheckerTest, CallsHaveALimitOfDepth) {
  Event enter = Event::OnObject(EventKind::kFunctionEnter, kMain, 0);
  for (uint64_t i = 0; i < TraceChecker::kMaxCallDepth; ++i) Accepts(enter);
  Refuses(enter, Operand::kVerb, "thread T0 is 1000000 calls deep, the most that is allowed");
}

TEST_F(CheckerTest, AnIgnoredRegionIsBegunBeforeItIsEnded) {
  Refuses(Bare(EventKind::kIgnoreReadsEnd), Operand::kVerb, "thread T0 ignores no reads that it could end");
  Refuses(Bare(EventKind::kIgnoreWritesEnd), Operand::kVerb, "thread T0 ignores no writes that it could end");
  AcceptsAll(Bare(EventKind::kIgnoreReadsBegin), Bare(EventKind::kIgnoreReadsBegin), Bare(EventKind::kIgnoreReadsEnd),
             Bare(EventKind::kIgnoreReadsEnd), Bare(EventKind::kIgnoreWritesBegin), Bare(EventKind::kIgnoreWritesEnd));
  Refuses(Bare(EventKind::kIgnoreReadsEnd), Operand::kVerb, "thread T0 ignores no reads that it could end");
  Refuses(Bare(EventKind::kIgnoreWritesEnd), Operand::kVerb, "thread T0 ignores no writes that it could end");
}

// The checker itself.

TEST_F(CheckerTest, AnUnknownKindIsRefused) { Refuses(Bare(EventKind{200}), Operand::kVerb, "unknown event kind 200"); }

TEST_F(CheckerTest, ARefusedEventChangesNothing) {
  AcceptsAll(Lock(kMain, kM), Memory(EventKind::kAlloc, 100, 10));
  Refuses(Lock(kOther, kM), Operand::kObject, "lock #5 cannot be taken for writing: it is held for writing by T0");
  EXPECT_FALSE(checker_.Holds(kOther, SyncId{kM}));
  Refuses(Memory(EventKind::kAlloc, 105, 10), Operand::kMemory, "0x69:10 overlaps the live allocation 0x64:10");
  Accepts(Memory(EventKind::kAlloc, 110, 10));
  EXPECT_EQ(checker_.AllocatedBy(Addr{110}), 2u) << "refused events do not count";
}

TEST(CheckerNamesTest, MessagesUseTheNamesOfTheTrace) {
  Trace trace;
  trace.threads = {"main", "worker"};
  trace.syncs = {{"queue.mutex", SyncKind::kLock}};
  TraceChecker checker(&trace);
  checker.AddInitialThread(Tid{0});
  checker.AddInitialThread(Tid{1});
  EXPECT_FALSE(checker.Check(Lock(Tid{0}, 0)).has_value());
  auto problem = checker.Check(Lock(Tid{1}, 0));
  ASSERT_TRUE(problem.has_value());
  EXPECT_EQ(problem->message, "lock 'queue.mutex' cannot be taken for writing: it is held for writing by 'main'");
}

}  // namespace
}  // namespace redflag
