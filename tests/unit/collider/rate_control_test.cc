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
  int64_t any = 0, shared = 0;
  for (int i = 0; i < 2000; ++i) {  // ten seconds of four threads, all of it used at once
    const PauseBudget::Halves more = budget.Tick(0.005, 4, {});
    any += more.any;
    shared += more.shared;
  }
  EXPECT_NEAR(static_cast<double>(any + shared), 0.03 * 4 * 10e9, 1e7);
  EXPECT_NEAR(static_cast<double>(any), static_cast<double>(shared), 1e7);
}

TEST(PauseBudget, GivesWhatOneHalfHasNoRoomForToTheOther) {
  const PauseBudget budget(0.03);
  constexpr int64_t kFull = 60'000'000;  // half a second's share of four threads
  const PauseBudget::Halves to_any = budget.Tick(0.005, 4, {.any = 0, .shared = kFull});
  EXPECT_EQ(to_any.any, 600'000);
  EXPECT_EQ(to_any.shared, 0);
  const PauseBudget::Halves to_shared = budget.Tick(0.005, 4, {.any = kFull, .shared = 0});
  EXPECT_EQ(to_shared.any, 0);
  EXPECT_EQ(to_shared.shared, 600'000);
}

TEST(PauseBudget, SavesNoMoreThanASecond) {
  const PauseBudget budget(0.03);
  PauseBudget::Halves left;
  for (int i = 0; i < 100'000; ++i) {
    const PauseBudget::Halves more = budget.Tick(0.005, 4, left);
    left.any += more.any;
    left.shared += more.shared;
  }
  EXPECT_EQ(left.any + left.shared, 120'000'000);
}

TEST(PauseBudget, PaysBackWhatWasUsedBeyondIt) {
  const PauseBudget budget(0.03);
  PauseBudget::Halves left{.any = -30'000'000, .shared = 15'000'000};
  double seconds = 0;
  for (; left.any <= 0; seconds += 0.005) left.any += budget.Tick(0.005, 1, left).any;
  EXPECT_NEAR(seconds, 1, 0.02);
}

}  // namespace
}  // namespace redflag
