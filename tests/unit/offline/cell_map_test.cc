#include "offline/cell_map.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "base/mem.h"
#include "detectors/hb.h"

namespace redflag {
namespace {

using D = Hb<PlainMem>;
using Seen = std::tuple<uint64_t, uint8_t, uint64_t>;  // granule, bytes, granules

class CellMapTest : public testing::Test {
 protected:
  CellMapTest() { detector_.OnStart(thread_); }

  D::Stamp Stamp() { return detector_.OnLifetime(thread_, Addr{0}, 8, AccessOrigin::kAlloc, kNoContext); }
  std::vector<Seen> Visit(uint64_t addr, uint64_t size) {
    std::vector<Seen> seen;
    map_.Visit(Addr{addr}, size, [&](D::Cell&, Addr granule, ByteMask bytes, uint64_t granules, Addr, uint64_t) {
      seen.emplace_back(Raw(granule), Raw(bytes), granules);
    });
    return seen;
  }

  D detector_;
  D::Thread thread_{detector_, Tid{0}};
  CellMap<D> map_{detector_};
};

TEST_F(CellMapTest, AGranuleKeepsItsCell) {
  EXPECT_EQ(&map_.At(Addr{0x1000}), &map_.At(Addr{0x1000}));
  EXPECT_NE(&map_.At(Addr{0x1000}), &map_.At(Addr{0x1008}));
  EXPECT_NE(&map_.At(Addr{0x1000}), &map_.At(Addr{0x1000 + (uint64_t{256} * 512)})) << "same line of the page cache";
}

TEST_F(CellMapTest, AHugeLifetimeCostsNothingUntilTouched) {
  const size_t before = map_.MemoryInUse();
  map_.Renew(Addr{0x1000}, uint64_t{1} << 40, Stamp(), false);
  EXPECT_LT(map_.MemoryInUse(), before + 1000);
  map_.Renew(Addr{0x1000}, uint64_t{1} << 40, Stamp(), true);
  EXPECT_LT(map_.MemoryInUse(), before + 1000);
}

TEST_F(CellMapTest, UntouchedMemoryIsVisitedInStretches) {
  map_.Renew(Addr{0x1003}, 0x10002, Stamp(), false);
  EXPECT_EQ(Visit(0x1003, 0x10002), (std::vector<Seen>{{0x1000, 0xf8, 1}, {0x1008, 0xff, 0x1fff}, {0x11000, 0x1f, 1}}));
}

TEST_F(CellMapTest, TouchedLinesAreVisitedCellByCell) {
  map_.Renew(Addr{0x1000}, 0x600, Stamp(), false);
  map_.At(Addr{0x1200});  // brings the line 0x1200..0x123f into being
  const std::vector<Seen> seen = Visit(0x1000, 0x600);
  ASSERT_EQ(seen.size(), 1u + 8 + 1);
  EXPECT_EQ(seen.front(), (Seen{0x1000, 0xff, 0x40}));
  EXPECT_EQ(seen[1], (Seen{0x1200, 0xff, 1}));
  EXPECT_EQ(seen.back(), (Seen{0x1240, 0xff, 0x78}));
}

TEST_F(CellMapTest, ForgottenMemoryIsAsIfNeverTouched) {
  map_.Renew(Addr{0x1000}, 0x600, Stamp(), false);
  map_.At(Addr{0x1200});
  map_.Forget(Addr{0x1000}, 0x600);
  EXPECT_TRUE(Visit(0x1000, 0x600).empty());
}

TEST_F(CellMapTest, ForgettingAPartLeavesTheRest) {
  map_.Renew(Addr{0x1000}, 0x100, Stamp(), false);
  map_.Forget(Addr{0x1004}, 0x20);
  const std::vector<Seen> seen = Visit(0x1000, 0x100);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0], (Seen{0x1000, 0x0f, 1}));
  EXPECT_EQ(seen[1], (Seen{0x1020, 0xf0, 1}));
  EXPECT_EQ(seen[2], (Seen{0x1028, 0xff, 0x1b}));
}

TEST_F(CellMapTest, MemoryThatNobodyKnowsIsNotVisited) { EXPECT_TRUE(Visit(0x1000, uint64_t{1} << 40).empty()); }

TEST_F(CellMapTest, FreedRangesAreForgottenBeyondTheirBound) {
  for (uint64_t i = 0; i < CellMap<D>::kMaxFreedRanges + 10; ++i) {
    map_.Renew(Addr{i * 4096}, 16, Stamp(), true);
  }
  EXPECT_EQ(map_.forgotten_ranges(), 10u);
  EXPECT_TRUE(Visit(0, 16).empty());
  EXPECT_FALSE(Visit(20 * 4096, 16).empty());
}

}  // namespace
}  // namespace redflag
