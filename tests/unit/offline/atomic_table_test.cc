#include "offline/atomic_table.h"

#include <gtest/gtest.h>

#include "base/mem.h"
#include "detectors/hb.h"

namespace redflag {
namespace {

using D = Hb<PlainMem>;

class AtomicTableTest : public testing::Test {
 protected:
  void Mark(uint64_t addr) { table_.At(Addr{addr}).carried.Set(Slot{5}, Time{1}); }
  bool IsMarked(uint64_t addr) { return table_.At(Addr{addr}).carried.Get(Slot{5}) == Time{1}; }

  D detector_;
  AtomicTable<D> table_{detector_};
};

TEST_F(AtomicTableTest, AnAddressKeepsItsState) {
  Mark(0x1004);
  EXPECT_TRUE(IsMarked(0x1004));
  EXPECT_FALSE(IsMarked(0x1000));
}

TEST_F(AtomicTableTest, AtomicsDieWithTheirMemoryAndOnlyThose) {
  for (const uint64_t addr : {0x0ff8, 0x1000, 0x1038, 0x1040, 0x2000}) Mark(addr);
  table_.Forget(Addr{0x1000}, 0x40);
  EXPECT_TRUE(IsMarked(0x0ff8));
  EXPECT_FALSE(IsMarked(0x1000));
  EXPECT_FALSE(IsMarked(0x1038));
  EXPECT_TRUE(IsMarked(0x1040));
  EXPECT_TRUE(IsMarked(0x2000));
}

TEST_F(AtomicTableTest, AHugeRangeIsNotWalked) {
  Mark(0x1000);
  table_.Forget(Addr{0}, uint64_t{1} << 62);
  EXPECT_FALSE(IsMarked(0x1000));
}

}  // namespace
}  // namespace redflag
