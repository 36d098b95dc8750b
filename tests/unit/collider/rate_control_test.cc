#include "collider/rate_control.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace redflag {
namespace {

// A program that meets each breakpoint as soon as it has it.
TEST(RateControl, HoldsTheRateOnHotCode) {
  RateControl control(100);
  uint64_t met = 0, armed = 0;
  for (int i = 0; i < 2000; ++i) {  // ten seconds
    const uint64_t fired = armed;
    met += fired;
    armed = control.Tick(0.005, fired);
  }
  EXPECT_NEAR(static_cast<double>(met), 1000, 50);
}

TEST(RateControl, GivesNothingBackWhileTooManyAreMet) {
  RateControl control(100);
  EXPECT_EQ(control.Tick(0.005, 1000), 0u);  // a program that starts meets many places for the first time
  for (int i = 0; i < 40; ++i) EXPECT_EQ(control.Tick(0.005, 0), 0u) << i;
}

TEST(RateControl, DoesNotSaveUpForLong) {
  RateControl control(100);
  for (int i = 0; i < 100'000; ++i) control.Tick(0.005, 0);
  EXPECT_LE(control.Tick(0.005, 0), 26u);
}

TEST(RateControl, GivesNothingAtRateZero) {
  RateControl control(0);
  control.Tick(1, 1);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(control.Tick(1, 0), 0u);
}

TEST(PauseBudget, IsAShareOfTheTimeOfAllThreads) {
  const PauseBudget budget(0.03);
  int64_t left = 0, spent = 0;
  for (int i = 0; i < 2000; ++i) {  // ten seconds of four threads, all of it used at once
    left += budget.Tick(0.005, 4, left);
    spent += left;
    left = 0;
  }
  EXPECT_NEAR(static_cast<double>(spent), 0.03 * 4 * 10e9, 1e7);
}

TEST(PauseBudget, SavesNoMoreThanASecond) {
  const PauseBudget budget(0.03);
  int64_t left = 0;
  for (int i = 0; i < 100'000; ++i) left += budget.Tick(0.005, 4, left);
  EXPECT_EQ(left, 120'000'000);
}

TEST(PauseBudget, PaysBackWhatWasUsedBeyondIt) {
  const PauseBudget budget(0.03);
  int64_t left = -30'000'000;
  double seconds = 0;
  for (; left <= 0; seconds += 0.005) left += budget.Tick(0.005, 1, left);
  EXPECT_NEAR(seconds, 1, 0.02);
}

}  // namespace
}  // namespace redflag
