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

constexpr uint64_t kMany = uint64_t{1} << 40;

// A large program, of whose places every other one is met as soon as it has its breakpoint.
TEST(FirstMeetings, HoldTheirRateInALargeProgram) {
  FirstMeetings control(100);
  uint64_t armed = FirstMeetings::kAtOnce, met = 0, fired = armed / 2;
  for (int i = 0; i < 4000; ++i) {  // twenty seconds
    met += fired;
    const uint64_t more = control.Tick(0.005, fired, kMany);
    armed += more;
    fired = more / 2;
  }
  EXPECT_LE(met, 20'000u + FirstMeetings::kAtOnce);
  EXPECT_GE(met, 15'000u);
  EXPECT_NEAR(static_cast<double>(armed), 2.0 * static_cast<double>(met), 1000);
}

TEST(FirstMeetings, AreSoonAllThereIfFewAreMet) {
  FirstMeetings control(100);
  uint64_t armed = FirstMeetings::kAtOnce;
  for (int i = 0; i < 300; ++i) armed += control.Tick(0.005, 0, kMany);  // one and a half seconds
  EXPECT_GE(armed, 10'000'000u);
}

TEST(FirstMeetings, AreNoMoreThanThereAre) {
  FirstMeetings control(100);
  uint64_t left = 100'000, given = 0;
  for (int i = 0; i < 1'000'000; ++i) {  // more than an hour
    const uint64_t more = control.Tick(0.005, 0, left);
    ASSERT_LE(more, left);
    left -= more;
    given += more;
  }
  EXPECT_EQ(given, 100'000u);
  uint64_t later = 0;  // a library is loaded
  for (int i = 0; i < 100; ++i) later += control.Tick(0.005, 0, 500 - later);
  EXPECT_EQ(later, 500u);
}

TEST(FirstMeetings, AreAsManyAsWereAskedForIfThatIsMore) {
  FirstMeetings control(50'000);
  uint64_t met = 0, fired = 0;
  for (int i = 0; i < 4000; ++i) {
    met += fired;
    fired = control.Tick(0.005, fired, kMany);
  }
  EXPECT_GE(met, 700'000u);
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
