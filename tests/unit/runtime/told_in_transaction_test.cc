#include "runtime/told_in_transaction.h"

#include <gtest/gtest.h>

namespace redflag::rt {
namespace {

Footprint Of(uint64_t addr, uint64_t size, AccessKind kind) { return {.addr = Addr{addr}, .size = size, .kind = kind}; }

TEST(ToldInTransaction, TheSameAgainIsCovered) {
  ToldInTransaction told;
  EXPECT_FALSE(told.Covers(Of(0x1000, 4, AccessKind::kRead)));
  EXPECT_TRUE(told.Covers(Of(0x1000, 4, AccessKind::kRead)));
  EXPECT_TRUE(told.Covers(Of(0x1000, 2, AccessKind::kRead)));
}

TEST(ToldInTransaction, AWriteCoversAReadAndNotTheOtherWayRound) {
  ToldInTransaction told;
  told.Covers(Of(0x1000, 4, AccessKind::kRead));
  EXPECT_FALSE(told.Covers(Of(0x1000, 4, AccessKind::kWrite)));
  EXPECT_TRUE(told.Covers(Of(0x1000, 4, AccessKind::kRead)));
}

TEST(ToldInTransaction, MoreBytesOrOthersAreNotCovered) {
  ToldInTransaction told;
  told.Covers(Of(0x1000, 4, AccessKind::kRead));
  EXPECT_FALSE(told.Covers(Of(0x1000, 8, AccessKind::kRead)));
  EXPECT_FALSE(told.Covers(Of(0x1004, 4, AccessKind::kRead)));
  EXPECT_FALSE(told.Covers(Of(0x1000 + 64 * 4, 4, AccessKind::kRead)));
}

TEST(ToldInTransaction, NothingIsCoveredAfterTheEndOrAnUndoing) {
  ToldInTransaction told;
  told.Covers(Of(0x1000, 4, AccessKind::kWrite));
  told.Forget();
  EXPECT_FALSE(told.Covers(Of(0x1000, 4, AccessKind::kWrite)));
}

}  // namespace
}  // namespace redflag::rt
