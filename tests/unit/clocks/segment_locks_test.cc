#include "clocks/segment_locks.h"

#include <gtest/gtest.h>

namespace redflag {
namespace {

using Table = SegmentLocks<4, 100>;

TEST(SegmentLocksTest, ASegmentHasTheLocksThatItWasGiven) {
  Table table;
  const Epoch first = MakeEpoch(Slot{1}, Time{7});
  EXPECT_EQ(table.Of(first), HeldSet());
  table.Set(first, HeldSet::Named(LocksetId{5}));
  table.Set(MakeEpoch(Slot{1}, Time{8}), HeldSet());
  table.Set(MakeEpoch(Slot{3}, Time{7}), HeldSet::Named(LocksetId{6}));
  EXPECT_EQ(table.Of(first), HeldSet::Named(LocksetId{5}));
  EXPECT_EQ(table.Of(MakeEpoch(Slot{1}, Time{8})), HeldSet());
  EXPECT_EQ(table.Of(MakeEpoch(Slot{3}, Time{7})), HeldSet::Named(LocksetId{6}));
  EXPECT_EQ(table.Of(MakeEpoch(Slot{2}, Time{7})), HeldSet());
}

TEST(SegmentLocksTest, ClearForgetsAllOfThem) {
  Table table;
  table.Set(MakeEpoch(Slot{0}, Time{1}), HeldSet::Named(LocksetId{5}));
  table.Clear();
  EXPECT_EQ(table.Of(MakeEpoch(Slot{0}, Time{1})), HeldSet());
}

}  // namespace
}  // namespace redflag
