#include "clocks/thread_slots.h"

#include <gtest/gtest.h>

namespace redflag {
namespace {

class ThreadSlotsTest : public testing::Test {
 protected:
  Arena<PlainMem> arena_;
  ThreadSlots<PlainMem> slots_{arena_};
  VectorClock<PlainMem> creator_{arena_};
};

TEST_F(ThreadSlotsTest, RunningThreadsHaveDistinctSlots) {
  const Epoch a = slots_.Claim(Tid{0}, nullptr);
  const Epoch b = slots_.Claim(Tid{1}, &creator_);
  EXPECT_NE(SlotOf(a), SlotOf(b));
}

TEST_F(ThreadSlotsTest, ASlotIsReusedWhenTheCreatorKnowsItsLastTime) {
  const Epoch first = slots_.Claim(Tid{0}, nullptr);
  const Epoch last = MakeEpoch(SlotOf(first), Time{9});
  slots_.Retire(last);
  creator_.Set(SlotOf(first), Time{9});
  const Epoch next = slots_.Claim(Tid{1}, &creator_);
  EXPECT_EQ(SlotOf(next), SlotOf(first));
  EXPECT_EQ(TimeOf(next), Time{10}) << "time of a slot never goes back";
  EXPECT_EQ(slots_.reused(), 1u);
}

// A thread that has used up the times of one slot after the other: in the end there is a need to begin anew, and then there are all.
TEST_F(ThreadSlotsTest, SlotsWithoutTimesAreWornUntilAllIsForgotten) {
  constexpr uint32_t kSlots = 16;
  constexpr uint64_t kTimes = 32;
  ThreadSlots<PlainMem> slots(arena_, kSlots, kTimes);
  const Epoch first = slots.Claim(Tid{0}, nullptr);
  EXPECT_FALSE(slots.IsUsedUp(TimeOf(first)));
  EXPECT_FALSE(slots.IsUsedUp(Time{kTimes - 1}));
  EXPECT_TRUE(slots.IsUsedUp(Time{kTimes}));
  Epoch last = first;
  for (uint32_t used = 1; used < kSlots - 2; ++used) {
    EXPECT_FALSE(slots.IsWorn()) << used;
    last = slots.Exchange(Tid{0}, creator_);
    EXPECT_EQ(TimeOf(last), Time{1});
    EXPECT_EQ(Raw(SlotOf(last)), used);
  }
  slots.Exchange(Tid{0}, creator_);
  EXPECT_TRUE(slots.IsWorn());
  EXPECT_EQ(slots.overcommitted(), 0u);
  slots.Reset();
  EXPECT_FALSE(slots.IsWorn());
  EXPECT_EQ(slots.OwnerOf(slots.Claim(Tid{7}, nullptr)), Tid{7});
  EXPECT_EQ(slots.size(), 1u);
}

// Many threads that live are no reason to: it would not help.
TEST_F(ThreadSlotsTest, SlotsOfLiveThreadsAreNotWorn) {
  ThreadSlots<PlainMem> slots(arena_, 16, 32);
  for (uint32_t i = 0; i < 20; ++i) slots.Claim(Tid{i}, nullptr);
  EXPECT_FALSE(slots.IsWorn());
  EXPECT_EQ(slots.overcommitted(), 4u);
}

TEST_F(ThreadSlotsTest, ASlotIsNotReusedBeforeItsLastTimeIsKnown) {
  const Epoch first = slots_.Claim(Tid{0}, nullptr);
  slots_.Retire(MakeEpoch(SlotOf(first), Time{9}));
  creator_.Set(SlotOf(first), Time{8});
  EXPECT_NE(SlotOf(slots_.Claim(Tid{1}, &creator_)), SlotOf(first));
  EXPECT_NE(SlotOf(slots_.Claim(Tid{2}, nullptr)), SlotOf(first)) << "nobody created it, so nobody knows";
}

TEST_F(ThreadSlotsTest, ReportsFindTheThreadThatOwnedTheSlotThen) {
  const Slot slot = SlotOf(slots_.Claim(Tid{4}, nullptr));
  slots_.Retire(MakeEpoch(slot, Time{9}));
  creator_.Set(slot, Time{9});
  slots_.Claim(Tid{5}, &creator_);
  EXPECT_EQ(slots_.OwnerOf(MakeEpoch(slot, Time{1})), Tid{4});
  EXPECT_EQ(slots_.OwnerOf(MakeEpoch(slot, Time{9})), Tid{4});
  EXPECT_EQ(slots_.OwnerOf(MakeEpoch(slot, Time{10})), Tid{5});
}

TEST_F(ThreadSlotsTest, AMillionShortThreadsNeedOneSlot) {
  for (uint32_t i = 0; i < 1'000'000; ++i) {
    const Epoch first = slots_.Claim(Tid{i}, &creator_);
    slots_.Retire(first);
    creator_.Set(SlotOf(first), TimeOf(first));
  }
  EXPECT_EQ(slots_.size(), 1u);
  EXPECT_LT(arena_.in_use(), size_t{100'000}) << "and remember only the latest owners";
  EXPECT_EQ(slots_.OwnerOf(MakeEpoch(Slot{0}, Time{999'900})), Tid{999'899});
  EXPECT_EQ(slots_.OwnerOf(MakeEpoch(Slot{0}, Time{5})), kNoThread);
}

}  // namespace
}  // namespace redflag
