#include "base/check.h"

#include <gtest/gtest.h>

namespace redflag {
namespace {

TEST(CheckDeathTest, AFailedCheckNamesItselfAndStops) {
  EXPECT_DEATH(REDFLAG_CHECK(1 + 1 == 3), "internal error: check failed: 1 \\+ 1 == 3 at .*check_test.cc:[0-9]+");
}

TEST(CheckTest, AHoldingCheckDoesNothing) { REDFLAG_CHECK(1 + 1 == 2); }

}  // namespace
}  // namespace redflag
