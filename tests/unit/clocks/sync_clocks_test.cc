#include "clocks/sync_clocks.h"

#include <gtest/gtest.h>

#include "base/mem.h"

namespace redflag {
namespace {

using Clock = ThreadClock<PlainMem>;
using Sync = SyncClock<PlainMem>;

class SyncClocksTest : public testing::Test {
 protected:
  SyncClocksTest() {
    first_.Start(slots_.Claim(Tid{0}, nullptr), nullptr);
    second_.Start(slots_.Claim(Tid{1}, nullptr), nullptr);
    third_.Start(slots_.Claim(Tid{2}, nullptr), nullptr);
  }

  Arena<PlainMem> arena_;
  ThreadSlots<PlainMem> slots_{arena_, 3};
  Clock first_{arena_, Tid{0}, &slots_}, second_{arena_, Tid{1}, &slots_}, third_{arena_, Tid{2}, &slots_};
  Sync sync_{arena_}, other_{arena_};
};

TEST_F(SyncClocksTest, WhoeverKnowsThePointOfARelease_KnowsAllThatItHandedOn) {
  second_.ReleaseStore(other_);
  const Epoch of_second = other_.carried_at();
  first_.Acquire(other_);
  first_.ReleaseStore(sync_);
  EXPECT_FALSE(third_.KnowsAll(sync_.carried_at()));
  third_.Acquire(sync_);
  EXPECT_TRUE(third_.KnowsAll(sync_.carried_at()));
  EXPECT_TRUE(third_.Knows(of_second));
  EXPECT_TRUE(third_.KnowsAll(other_.carried_at())) << "it never acquired from that one, and need not";
}

TEST_F(SyncClocksTest, WhatWasReleasedLaterIsNotKnown) {
  first_.ReleaseStore(sync_);
  second_.Acquire(sync_);
  first_.ReleaseStore(sync_);
  EXPECT_FALSE(second_.KnowsCarried(sync_));
}

TEST_F(SyncClocksTest, WhatSeveralHandedOnHasNoPoint) {
  first_.ReleaseMerge(sync_);
  EXPECT_NE(sync_.carried_at(), Sync::kNoPoint);
  second_.ReleaseMerge(sync_);
  EXPECT_EQ(sync_.carried_at(), Sync::kNoPoint);
  third_.Acquire(sync_);
  EXPECT_TRUE(third_.Knows(MakeEpoch(Slot{0}, Time{1})));
  EXPECT_TRUE(third_.Knows(MakeEpoch(Slot{1}, Time{1})));
}

TEST_F(SyncClocksTest, WhoKnowsAllThatIsCarriedHandsItOnAsHisOwn) {
  first_.ReleaseMerge(sync_);
  second_.Acquire(sync_);
  first_.Acquire(sync_);  // so that it is not the second who is noted as knowing it
  second_.ReleaseMerge(sync_);
  EXPECT_EQ(sync_.carried_at(), MakeEpoch(Slot{1}, Time{1}));
  third_.Acquire(sync_);
  EXPECT_TRUE(third_.Knows(MakeEpoch(Slot{0}, Time{1})));
}

TEST_F(SyncClocksTest, ARelaxedStoreCarriesWhatTheFenceReleased) {
  first_.RelaxedStore(sync_);
  EXPECT_EQ(sync_.carried_at(), kNoEpoch);
  EXPECT_TRUE(second_.KnowsCarried(sync_)) << "nothing";
  first_.ReleaseFence();
  first_.RelaxedStore(sync_);
  EXPECT_EQ(sync_.carried_at(), MakeEpoch(Slot{0}, Time{1})) << "of the time that the fence ended";
  EXPECT_FALSE(second_.KnowsCarried(sync_));
}

TEST_F(SyncClocksTest, ALockIsNotJoinedByWhoKnowsItsLatestUnlock) {
  first_.Unlock(sync_, LockMode::kExclusive);
  EXPECT_FALSE(second_.KnowsAll(sync_.unlocked_exclusive_at));
  second_.Lock(sync_, LockMode::kExclusive);
  EXPECT_TRUE(second_.KnowsAll(sync_.unlocked_exclusive_at));
  second_.Unlock(other_, LockMode::kExclusive);
  third_.Lock(other_, LockMode::kShared);
  EXPECT_TRUE(third_.KnowsAll(sync_.unlocked_exclusive_at));
}

TEST_F(SyncClocksTest, OfATimeThatIsToldBeforeItIsOverThereIsNoPoint) {
  third_.JoinThread(first_);  // which goes on, and learns more
  second_.ReleaseStore(other_);
  first_.Acquire(other_);
  first_.ReleaseStore(sync_);
  EXPECT_EQ(sync_.carried_at(), Sync::kNoPoint);
  EXPECT_FALSE(third_.KnowsCarried(sync_));
  third_.Acquire(sync_);
  EXPECT_TRUE(third_.Knows(MakeEpoch(Slot{1}, Time{1})));
  first_.ReleaseStore(sync_);
  EXPECT_NE(sync_.carried_at(), Sync::kNoPoint) << "of the next time there is one";
}

TEST_F(SyncClocksTest, WhereThreadsShareASlotPointsProveNothing) {
  first_.ReleaseStore(sync_);
  second_.Acquire(sync_);
  ASSERT_TRUE(second_.KnowsAll(sync_.carried_at()));
  slots_.Claim(Tid{3}, nullptr);
  ASSERT_NE(slots_.overcommitted(), 0u);
  EXPECT_FALSE(second_.KnowsAll(sync_.carried_at()));
}

TEST_F(SyncClocksTest, WhatWasDestroyedCarriesNothing) {
  first_.ReleaseStore(sync_);
  first_.Unlock(sync_, LockMode::kExclusive);
  sync_.Clear();
  EXPECT_TRUE(second_.KnowsCarried(sync_));
  EXPECT_TRUE(second_.KnowsAll(sync_.unlocked_exclusive_at));
}

TEST_F(SyncClocksTest, AThreadThatBeganAnewHasHadNoFence) {
  first_.ReleaseFence();
  first_.Restart(MakeEpoch(Slot{0}, Time{1}));
  first_.RelaxedStore(sync_);
  EXPECT_EQ(sync_.carried_at(), kNoEpoch);
}

}  // namespace
}  // namespace redflag
