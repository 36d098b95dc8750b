#include "clocks/segment_locks.h"

#include <gtest/gtest.h>

namespace redflag {
namespace {

using Table = SegmentLocks<4, 100>;

TEST(SegmentLocksTest, ASegmentHasTheLocksThatItWasGiven) {
  Table table;
  const Epoch first = MakeEpoch(Slot{1}, Time{7});
  EXPECT_EQ(table.Of(first), kEmptyLockset);
  table.Set(first, LocksetId{5});
  table.Set(MakeEpoch(Slot{1}, Time{8}), kEmptyLockset);
  table.Set(MakeEpoch(Slot{3}, Time{7}), LocksetId{6});
  EXPECT_EQ(table.Of(first), LocksetId{5});
  EXPECT_EQ(table.Of(MakeEpoch(Slot{1}, Time{8})), kEmptyLockset);
  EXPECT_EQ(table.Of(MakeEpoch(Slot{3}, Time{7})), LocksetId{6});
  EXPECT_EQ(table.Of(MakeEpoch(Slot{2}, Time{7})), kEmptyLockset);
}

TEST(SegmentLocksTest, ClearForgetsAllOfThem) {
  Table table;
  table.Set(MakeEpoch(Slot{0}, Time{1}), LocksetId{5});
  table.Clear();
  EXPECT_EQ(table.Of(MakeEpoch(Slot{0}, Time{1})), kEmptyLockset);
}

}  // namespace
}  // namespace redflag
