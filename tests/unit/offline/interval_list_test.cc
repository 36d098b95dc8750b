#include "offline/interval_list.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace redflag {
namespace {

using Parts = std::vector<std::pair<uint64_t, uint64_t>>;

Parts Gaps(IntervalList<int>& list, uint64_t addr, uint64_t size) {
  Parts parts;
  list.ForEachGap(Addr{addr}, size, [&](Addr begin, uint64_t bytes) { parts.emplace_back(Raw(begin), bytes); });
  return parts;
}

TEST(IntervalListTest, AnEmptyListIsOneGap) {
  IntervalList<int> list;
  EXPECT_EQ(Gaps(list, 10, 5), (Parts{{10, 5}}));
}

TEST(IntervalListTest, OverlappingRangesLeaveTheirComplement) {
  IntervalList<int> list;
  list.Add(Addr{20}, 10, 1);
  list.Add(Addr{25}, 10, 2);
  list.Add(Addr{50}, 100, 3);
  EXPECT_EQ(Gaps(list, 0, 60), (Parts{{0, 20}, {35, 15}}));
  EXPECT_EQ(Gaps(list, 22, 5), Parts{});
}

TEST(IntervalListTest, RemovingCutsRanges) {
  IntervalList<int> list;
  list.Add(Addr{0}, 100, 7);
  list.Remove(Addr{40}, 20);
  std::vector<uint64_t> ends;
  list.ForEach(Addr{0}, 100, [&](Addr begin, Addr end, int& value) {
    EXPECT_EQ(value, 7);
    ends.push_back(Raw(begin));
    ends.push_back(Raw(end));
  });
  EXPECT_EQ(ends, (std::vector<uint64_t>{0, 40, 60, 100}));
  EXPECT_EQ(list.Find(Addr{0}, 100), nullptr);
  EXPECT_NE(list.Find(Addr{60}, 40), nullptr);
}

}  // namespace
}  // namespace redflag
