#include "clocks/segment_times.h"

#include <gtest/gtest.h>

#include <map>

namespace redflag {
namespace {

HeldSet Locks(uint32_t lock) { return HeldSet::Listing(MakeHeldLock(SyncId{lock}, LockMode::kExclusive)); }

class SegmentTimesTest : public testing::Test {
 protected:
  Time GoTo(HeldSet locks) {
    const Time time = times_.GoTo(locks, is_new_);
    return time;
  }

  Arena<PlainMem> arena_;
  SegmentTimes<PlainMem> times_{arena_};
  bool is_new_ = false;
};

TEST_F(SegmentTimesTest, WhoHasTheSameLocksAgainGoesBack) {
  times_.Begin(Time{5}, HeldSet());
  EXPECT_EQ(GoTo(Locks(1)), Time{6});
  EXPECT_TRUE(is_new_);
  EXPECT_EQ(GoTo(HeldSet()), Time{5});
  EXPECT_FALSE(is_new_);
  EXPECT_EQ(GoTo(Locks(1)), Time{6});
  EXPECT_FALSE(is_new_);
  EXPECT_EQ(times_.latest(), Time{6});
}

TEST_F(SegmentTimesTest, ButNotToAnotherPlaceOfTheOrder) {
  times_.Begin(Time{5}, HeldSet());
  GoTo(Locks(1));
  times_.Begin(Time{9}, HeldSet());
  EXPECT_EQ(GoTo(Locks(1)), Time{10});
  EXPECT_TRUE(is_new_);
}

// What is forgotten for want of room costs a time; two sets never have the same one.
TEST_F(SegmentTimesTest, ManySetsAreRememberedByWhoNeedsThem) {
  constexpr uint32_t kLocks = 1000;
  times_.Begin(Time{1}, HeldSet());
  const uint32_t at_first = times_.remembered();
  std::map<Time, uint32_t> had_at;
  for (int round = 0; round < 30; ++round) {
    for (uint32_t lock = 1; lock <= kLocks; ++lock) {
      const Time time = GoTo(Locks(lock));
      ASSERT_EQ(had_at.emplace(time, lock).second, is_new_);
      ASSERT_EQ(had_at.at(time), lock);
      if (!is_new_) continue;
      ASSERT_EQ(time, times_.latest());
    }
  }
  EXPECT_GT(times_.remembered(), at_first);
  const Time before = times_.latest();
  for (uint32_t lock = 1; lock <= kLocks; ++lock) GoTo(Locks(lock));
  EXPECT_LT(Raw(times_.latest()) - Raw(before), kLocks / 2) << "most are gone back to";
}

TEST_F(SegmentTimesTest, OneThatIsDeadGivesAllBack) {
  const size_t before = arena_.in_use();
  {
    SegmentTimes<PlainMem> times(arena_);
    times.Begin(Time{1}, HeldSet());
    bool is_new;
    for (uint32_t lock = 0; lock < 5000; ++lock) times.GoTo(Locks(lock), is_new);
    EXPECT_GT(arena_.in_use(), before);
  }
  EXPECT_EQ(arena_.in_use(), before);
}

}  // namespace
}  // namespace redflag
