#include "cli/machine.h"

#include <gtest/gtest.h>

namespace redflag::cli {
namespace {

TEST(Machine, TheRandomizationThatKernelsStartWithIsFine) {
  EXPECT_TRUE(KeepsApart(18));  // arm64
  EXPECT_TRUE(KeepsApart(28));  // x86-64
}

TEST(Machine, TheStrongestRandomizationIsNot) {
  EXPECT_FALSE(KeepsApart(31));
  EXPECT_FALSE(KeepsApart(32));
  EXPECT_FALSE(KeepsApart(33));
}

}  // namespace
}  // namespace redflag::cli
