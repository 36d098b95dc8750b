#include "trace/interval_set.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace redflag {
namespace {

TEST(IntervalSetTest, TheHighestSharedIntervalIsFound) {
  IntervalSet set;
  set.Insert(10, 20);
  set.Insert(30, 40);
  EXPECT_FALSE(set.LastIn(0, 10).has_value());
  EXPECT_FALSE(set.LastIn(20, 30).has_value());
  EXPECT_EQ(set.LastIn(0, 11)->end, 20u);
  EXPECT_EQ(set.LastIn(0, 100)->begin, 30u);
  EXPECT_EQ(set.LastIn(39, 40)->begin, 30u);
}

TEST(IntervalSetTest, IntervalsThatTouchBecomeOne) {
  IntervalSet set;
  set.Insert(10, 20);
  set.Insert(30, 40);
  set.Insert(20, 30);
  EXPECT_EQ(set.LastIn(0, 11)->begin, 10u);
  EXPECT_EQ(set.LastIn(0, 11)->end, 40u);
}

TEST(IntervalSetTest, ItHoldsWhatWasInserted) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    IntervalSet set;
    std::set<uint64_t> plain;
    for (int i = 0; i < 12; ++i) {
      uint64_t begin = random() % 60;
      uint64_t end = begin + 1 + random() % 8;
      set.Insert(begin, end);
      for (uint64_t number = begin; number < end; ++number) plain.insert(number);
      for (uint64_t number = 0; number < 70; ++number) ASSERT_EQ(set.Contains(number), plain.contains(number));
    }
  }
}

}  // namespace
}  // namespace redflag
