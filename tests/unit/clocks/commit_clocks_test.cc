#include "clocks/commit_clocks.h"

#include <gtest/gtest.h>

#include "base/mem.h"

namespace redflag {
namespace {

class CommitClocksTest : public testing::Test {
 protected:
  CommitClocksTest() {
    first_.Start(MakeEpoch(Slot{0}, Time{1}), nullptr);
    second_.Start(MakeEpoch(Slot{1}, Time{1}), nullptr);
    third_.Start(MakeEpoch(Slot{2}, Time{1}), nullptr);
  }
  static Footprint Bytes(uint64_t addr, uint64_t size) {
    return {.addr = Addr{addr}, .size = size, .kind = AccessKind::kWrite};
  }

  Arena<PlainMem> arena_;
  CommitClocks<PlainMem> commits_{arena_};
  ThreadClock<PlainMem> first_{arena_, Tid{0}}, second_{arena_, Tid{1}}, third_{arena_, Tid{2}};
  const Footprint here_ = Bytes(0x1000, 4), beside_ = Bytes(0x1004, 4);
};

TEST_F(CommitClocksTest, OrderThoseThatHaveAByteInCommon) {
  const Epoch before = first_.epoch();
  commits_.Release(first_, &here_, 1, true);
  commits_.Acquire(second_, &beside_, 1);
  EXPECT_FALSE(second_.Knows(before));
  commits_.Acquire(second_, &here_, 1);
  EXPECT_TRUE(second_.Knows(before));
}

TEST_F(CommitClocksTest, WhatWasHandedOnAtATimeOfItsOwnIsJoinedOnce) {
  const Epoch of_third = third_.epoch();
  first_.Join(third_.clock());
  commits_.Release(first_, &here_, 1, true);
  commits_.Acquire(second_, &here_, 1);
  EXPECT_TRUE(second_.Knows(of_third));
  commits_.Release(second_, &here_, 1, true);
  EXPECT_TRUE(second_.Knows(of_third));
}

// The time of a thread whose slot is used up stands still: to know of the time is not to know of all that is handed on at it.
TEST_F(CommitClocksTest, WhereTimeStandsStillEachCommitIsJoined) {
  const Epoch of_third = third_.epoch();
  const Time still = TimeOf(first_.epoch());
  commits_.Release(first_, &here_, 1, false);
  commits_.Acquire(second_, &here_, 1);
  first_.GoTo(still);
  first_.Join(third_.clock());
  commits_.Release(first_, &here_, 1, false);
  commits_.Acquire(second_, &here_, 1);
  EXPECT_TRUE(second_.Knows(of_third));
}

TEST_F(CommitClocksTest, MemoryMayBeForgottenWhileACommitIsUnderWay) {
  const Epoch before = first_.epoch();
  commits_.Release(third_, &here_, 1, true);
  commits_.Acquire(first_, &here_, 1);
  commits_.Forget(here_.addr, here_.size);
  commits_.Release(first_, &here_, 1, true);
  commits_.Acquire(second_, &here_, 1);
  EXPECT_TRUE(second_.Knows(before));
}

TEST_F(CommitClocksTest, TwoMayBeUnderWay) {
  const Epoch of_first = first_.epoch(), of_second = second_.epoch();
  commits_.Acquire(first_, &here_, 1);
  commits_.Acquire(second_, &beside_, 1);
  commits_.Release(first_, &here_, 1, true);
  commits_.Release(second_, &beside_, 1, true);
  commits_.Acquire(third_, &here_, 1);
  EXPECT_TRUE(third_.Knows(of_first));
  EXPECT_FALSE(third_.Knows(of_second));
  commits_.Acquire(third_, &beside_, 1);
  EXPECT_TRUE(third_.Knows(of_second));
}

TEST_F(CommitClocksTest, FieldsOfOneGranuleAreTouchedAsOne) {
  const Epoch before = first_.epoch();
  const Footprint fields[] = {beside_, here_, Bytes(0x2000, 8), here_};
  commits_.Acquire(first_, fields, 4);
  commits_.Release(first_, fields, 4, true);
  for (const Footprint& field : fields) {
    ThreadClock<PlainMem> thread(arena_, Tid{7});
    thread.Start(MakeEpoch(Slot{7}, Time{1}), nullptr);
    commits_.Acquire(thread, &field, 1);
    EXPECT_TRUE(thread.Knows(before));
  }
  commits_.Forget(Addr{0x1000}, 0x2000);
  commits_.Acquire(second_, fields, 4);
  EXPECT_FALSE(second_.Knows(before));
}

class CommitsByReads : public CommitClocksTest {
 protected:
  CommitsByReads() { commits_.OrderByReads(); }
  static Footprint Read(uint64_t addr, uint64_t size) {
    return {.addr = Addr{addr}, .size = size, .kind = AccessKind::kRead};
  }
  const Footprint read_here_ = Read(0x1000, 4), read_beside_ = Read(0x1004, 4);
};

TEST_F(CommitsByReads, WhoReadsIsOrderedAfterWhoWrote) {
  const Epoch before = first_.epoch();
  commits_.Release(first_, &here_, 1, true);
  commits_.Acquire(second_, &here_, 1);
  EXPECT_FALSE(second_.Knows(before)) << "it only writes";
  commits_.Acquire(second_, &read_here_, 1);
  EXPECT_TRUE(second_.Knows(before));
}

TEST_F(CommitsByReads, WhoReadIsBeforeNobody) {
  const Epoch before = first_.epoch();
  commits_.Release(first_, &read_here_, 1, true);
  commits_.Acquire(second_, &read_here_, 1);
  EXPECT_FALSE(second_.Knows(before));
}

TEST_F(CommitsByReads, WhoReadsIsOrderedAfterAllThatWroteThisByte) {
  const Epoch of_first = first_.epoch(), of_second = second_.epoch();
  const Footprint both[] = {here_, beside_};
  commits_.Release(first_, &here_, 1, true);
  commits_.Release(second_, both, 2, true);  // without reading
  ThreadClock<PlainMem> fourth{arena_, Tid{3}};
  fourth.Start(MakeEpoch(Slot{3}, Time{1}), nullptr);
  commits_.Acquire(third_, &read_beside_, 1);
  EXPECT_TRUE(third_.Knows(of_second));
  EXPECT_FALSE(third_.Knows(of_first)) << "that wrote another byte";
  commits_.Acquire(fourth, &read_here_, 1);
  EXPECT_TRUE(fourth.Knows(of_second));
  EXPECT_TRUE(fourth.Knows(of_first));
}

TEST_F(CommitsByReads, ItIsKnownWhichTimesAreThoseOfCommits) {
  const Epoch before = first_.epoch();
  first_.Tick();
  const Epoch commit = first_.epoch();
  commits_.Release(first_, &here_, 1, true);
  EXPECT_FALSE(commits_.IsOfCommit(before));
  EXPECT_TRUE(commits_.IsOfCommit(commit));
  EXPECT_FALSE(commits_.IsOfCommit(first_.epoch()));
  commits_.BeginEra();
  EXPECT_FALSE(commits_.IsOfCommit(commit));
}

}  // namespace
}  // namespace redflag
