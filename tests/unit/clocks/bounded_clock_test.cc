#include "clocks/bounded_clock.h"

#include <gtest/gtest.h>

namespace redflag {
namespace {

Slot S(uint32_t slot) { return Slot(static_cast<uint16_t>(slot)); }

TEST(BoundedClockTest, HoldsUpToItsBoundExactly) {
  Arena<PlainMem> arena;
  BoundedClock<PlainMem> clock(arena, 8);
  for (uint32_t i = 0; i < 8; ++i) clock.Raise(S(i * 3), Time{i + 1});
  for (uint32_t i = 0; i < 8; ++i) EXPECT_EQ(clock.Get(S(i * 3)), Time{i + 1});
  EXPECT_EQ(clock.forgotten(), 0u);
}

TEST(BoundedClockTest, ForgetsTheOlderHalfWhenFull) {
  Arena<PlainMem> arena;
  BoundedClock<PlainMem> clock(arena, 8);
  for (uint32_t i = 0; i < 8; ++i) clock.Raise(S(i), Time{1});
  clock.Raise(S(0), Time{2});  // the oldest becomes the newest
  clock.Raise(S(100), Time{1});
  EXPECT_EQ(clock.size(), 5u);
  EXPECT_EQ(clock.forgotten(), 4u);
  for (uint32_t slot : {1, 2, 3, 4}) EXPECT_EQ(clock.Get(S(slot)), kNever) << slot;
  for (uint32_t slot : {5, 6, 7, 100}) EXPECT_EQ(clock.Get(S(slot)), Time{1}) << slot;
  EXPECT_EQ(clock.Get(S(0)), Time{2});
}

TEST(BoundedClockTest, LearningNothingNewDoesNotRefreshASlot) {
  Arena<PlainMem> arena;
  BoundedClock<PlainMem> clock(arena, 4);
  for (uint32_t i = 0; i < 4; ++i) clock.Raise(S(i), Time{5});
  clock.Raise(S(0), Time{5});
  clock.Raise(S(0), Time{1});
  clock.Raise(S(9), Time{1});
  EXPECT_EQ(clock.Get(S(0)), kNever);
  EXPECT_EQ(clock.Get(S(3)), Time{5});
}

TEST(BoundedClockTest, ForgettingNeverInventsKnowledge) {
  Arena<PlainMem> arena;
  BoundedClock<PlainMem> clock(arena, 16);
  for (uint32_t i = 0; i < 1000; ++i) {
    clock.Raise(S(i % 100), Time{i + 1});
    EXPECT_LE(clock.size(), 16u);
    EXPECT_FALSE(clock.Knows(MakeEpoch(S(i % 100), Time{i + 2})));
    EXPECT_TRUE(clock.Knows(MakeEpoch(S(i % 100), Time{i + 1})));
  }
}

TEST(BoundedClockTest, JoinTakesTheLaterTimeOfEachSlot) {
  Arena<PlainMem> arena;
  BoundedClock<PlainMem> a(arena);
  BoundedClock<PlainMem> b(arena);
  a.Raise(S(1), Time{5});
  b.Raise(S(1), Time{3});
  b.Raise(S(2), Time{7});
  a.Join(b);
  EXPECT_EQ(a.Get(S(1)), Time{5});
  EXPECT_EQ(a.Get(S(2)), Time{7});
}

}  // namespace
}  // namespace redflag
