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
