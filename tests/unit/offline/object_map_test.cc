#include "offline/object_map.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "base/mem.h"
#include "detectors/hb.h"

namespace redflag {
namespace {

using D = Hb<PlainMem>;
using Seen = std::tuple<uint8_t, uint64_t, uint64_t>;  // bytes, object, size

class ObjectMapTest : public testing::Test {
 protected:
  ObjectMapTest() { detector_.OnStart(thread_); }

  std::vector<Seen> Touch(uint64_t granule, uint8_t bytes) {
    std::vector<Seen> seen;
    map_.ForBytes(Addr{granule}, ByteMask{bytes}, [&](D::Cell& cell, ByteMask part, Addr object, uint64_t size) {
      seen.emplace_back(Raw(part), Raw(object), size);
      cells_.push_back(&cell);
    });
    return seen;
  }
  void Renew(uint64_t addr, uint64_t size) {
    map_.Renew(Addr{addr}, size, detector_.OnLifetime(thread_, Addr{addr}, size, AccessOrigin::kAlloc, kNoContext),
               false);
  }

  D detector_;
  D::Thread thread_{detector_, Tid{0}};
  ObjectMap<D> map_{detector_};
  std::vector<D::Cell*> cells_;
};

TEST_F(ObjectMapTest, AllOfAnObjectIsOneCell) {
  map_.Declare(Addr{0x1000}, 64);
  EXPECT_EQ(Touch(0x1000, 0xff), (std::vector<Seen>{{0xff, 0x1000, 64}}));
  EXPECT_EQ(Touch(0x1038, 0x0f), (std::vector<Seen>{{0x0f, 0x1000, 64}}));
  EXPECT_EQ(cells_[0], cells_[1]);
}

TEST_F(ObjectMapTest, AGranuleMayHoldSeveralObjects) {
  map_.Declare(Addr{0x1000}, 4);
  map_.Declare(Addr{0x1004}, 2);
  EXPECT_EQ(Touch(0x1000, 0xff), (std::vector<Seen>{{0x0f, 0x1000, 4}, {0x30, 0x1004, 2}, {0xc0, 0x1006, 2}}));
  EXPECT_EQ(Touch(0x1000, 0x80), (std::vector<Seen>{{0x80, 0x1006, 2}})) << "what is left became an object";
}

TEST_F(ObjectMapTest, MemoryOfNobodyIsAnObjectByTheGranule) {
  EXPECT_EQ(Touch(0x2000, 0x01), (std::vector<Seen>{{0x01, 0x2000, 8}}));
}

TEST_F(ObjectMapTest, AnAllocationReplacesWhatWasThere) {
  Renew(0x1000, 32);
  Renew(0x1010, 32);
  EXPECT_EQ(Touch(0x1008, 0xff), (std::vector<Seen>{{0xff, 0x1000, 16}}));
  EXPECT_EQ(Touch(0x1018, 0xff), (std::vector<Seen>{{0xff, 0x1010, 32}}));
}

TEST_F(ObjectMapTest, APartHandedOutByAnAllocatorSplitsTheBlock) {
  Renew(0x1000, 64);
  Renew(0x1010, 16);
  EXPECT_EQ(Touch(0x1008, 0xff), (std::vector<Seen>{{0xff, 0x1000, 16}}));
  EXPECT_EQ(Touch(0x1010, 0xff), (std::vector<Seen>{{0xff, 0x1010, 16}}));
  EXPECT_EQ(Touch(0x1020, 0xff), (std::vector<Seen>{{0xff, 0x1020, 32}}));
}

}  // namespace
}  // namespace redflag
