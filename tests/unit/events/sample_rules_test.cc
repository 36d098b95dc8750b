#include "events/sample_rules.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace redflag::sampling {
namespace {

// A page with room for one place.
class SampleRules : public testing::Test {
 protected:
  SampleRules() : bytes_(sizeof(SamplePage) / sizeof(Line) + 2) {
    page_ = new (bytes_.data()) SamplePage{};
    page_->armed_offset = sizeof(SamplePage);
    page_->most_delay_us = 15'000;
  }
  // The longest of many choices.
  uint64_t Longest(Sharing sharing, uint64_t now) {
    uint64_t longest = 0;
    for (uint64_t random = 0; random < 20 * kMillisecond; random += 50 * kMicrosecond - 1) {
      longest = std::max(longest, ChooseDelay(page_, 0, sharing, now, random));
    }
    return longest;
  }
  void Arm(uint64_t milliseconds, bool never_met) { *ArmedOf(page_) = ArmedWord(milliseconds, never_met); }

  struct alignas(64) Line {
    uint8_t bytes[64];
  };
  std::vector<Line> bytes_;
  SamplePage* page_ = nullptr;
};

constexpr uint32_t kThread = 7;
constexpr uint64_t kNow = 100 * kMillisecond;
constexpr uint64_t kSlack = 100 * kMicrosecond;

// To set it up costs the same.
TEST_F(SampleRules, NoPauseIsShort) {
  Arm(0, false);
  for (uint64_t random = 0; random < 20 * kMillisecond; random += 50 * kMicrosecond - 1) {
    EXPECT_GT(ChooseDelay(page_, 0, Sharing::kNone, kNow, random), kShortest / 4);
    EXPECT_LE(ChooseDelay(page_, 0, Sharing::kNone, kNow, random), kShortest);
  }
  page_->most_delay_us = 0;
  EXPECT_EQ(ChooseDelay(page_, 0, Sharing::kNone, kNow, 12345), 0u);
}

TEST_F(SampleRules, BytesAreSharedOnceSeveralThreadsWereMetAndOneWrote) {
  EXPECT_EQ(NoteMet(page_, 0x1000, true, 7), Sharing::kUnknown);
  EXPECT_EQ(NoteMet(page_, 0x1000, true, 7), Sharing::kNone);
  EXPECT_EQ(NoteMet(page_, 0x1000, false, 8), Sharing::kShared);
  EXPECT_EQ(NoteMet(page_, 0x1000, false, 7), Sharing::kShared);
}

TEST_F(SampleRules, BytesThatAreOnlyReadAreNotShared) {
  for (uint32_t tid = 1; tid < 5; ++tid) EXPECT_NE(NoteMet(page_, 0x1000, false, tid), Sharing::kShared);
  EXPECT_EQ(NoteMet(page_, 0x1000, true, 5), Sharing::kShared);
}

TEST_F(SampleRules, OtherBytesAreOtherBytes) {
  NoteMet(page_, 0x1000, true, 7);
  EXPECT_EQ(NoteMet(page_, 0x1008, false, 8), Sharing::kUnknown);
  EXPECT_EQ(NoteMet(page_, 0x1004, false, 8), Sharing::kShared);  // of one word
}

TEST_F(SampleRules, WhatIsForgottenIsUnknown) {
  NoteMet(page_, 0x1000, true, 7);
  for (uint64_t i = 1; i < 100 * SamplePage::kMet; ++i) NoteMet(page_, 0x1000 + i * 8, false, 8);
  EXPECT_EQ(NoteMet(page_, 0x1000, false, 8), Sharing::kUnknown);
}

TEST_F(SampleRules, APauseIsAsLongAsThePlaceHasWaited) {
  Arm(1000, false);
  EXPECT_NEAR(Longest(Sharing::kUnknown, 1000 * kMillisecond), kShortest, kSlack);
  EXPECT_NEAR(Longest(Sharing::kUnknown, 1020 * kMillisecond), 5 * kMillisecond, kSlack);
  EXPECT_NEAR(Longest(Sharing::kShared, 2000 * kMillisecond), 15 * kMillisecond, kSlack);
}

TEST_F(SampleRules, WhereNobodyElseWasMetThePauseIsShort) {
  Arm(1000, false);
  EXPECT_NEAR(Longest(Sharing::kNone, 2000 * kMillisecond), kShortest, kSlack);
}

TEST_F(SampleRules, ANewPlaceHasNotWaitedAndIsWorthAPause) {
  Arm(1000, true);
  EXPECT_NEAR(Longest(Sharing::kUnknown, 1001 * kMillisecond), kShortest, kSlack);  // there is one thread
  page_->is_threaded = 1;
  EXPECT_NEAR(Longest(Sharing::kUnknown, 1001 * kMillisecond), kFirst, kSlack);
}

TEST_F(SampleRules, SharedBytesAreNotKeptFromTheirHalfByOthers) {
  page_->is_threaded = 1;
  page_->pause_left_ns = page_->shared_left_ns = 10;
  while (Pay(page_, kThread, Sharing::kUnknown, 4, kNow).from != nullptr) {
  }
  EXPECT_EQ(page_->shared_left_ns, 10);
  const Paid paid = Pay(page_, kThread, Sharing::kShared, 10, kNow);
  EXPECT_EQ(paid.from, &page_->shared_left_ns);
  Settle(page_, paid, 15);
  EXPECT_EQ(page_->shared_left_ns, -5);
  EXPECT_EQ(Pay(page_, kThread, Sharing::kShared, 2, kNow).from,
            &page_->pause_left_ns);  // then they take what is there
  EXPECT_EQ(Pay(page_, kThread, Sharing::kShared, 2, kNow).from, nullptr);
}

TEST_F(SampleRules, OneThreadAloneLeavesSomeForOthers) {
  page_->pause_left_ns = 15 * kMillisecond;
  while (Pay(page_, kThread, Sharing::kUnknown, kShortest, kNow).from != nullptr) {
  }
  EXPECT_NEAR(static_cast<double>(page_->pause_left_ns), 7.5e6, static_cast<double>(kShortest));
  page_->is_threaded = 1;
  EXPECT_NE(Pay(page_, kThread, Sharing::kUnknown, kShortest, kNow).from, nullptr);
}

// One that is busy, beside others whose share it could have.
TEST_F(SampleRules, AThreadIsStoppedForNoMoreThanItsShareOfItsOwnTime) {
  page_->is_threaded = 1;
  page_->pause_left_ns = 1000 * 1000 * kMillisecond;
  page_->pause_price = 10 * SamplePage::kPriceUnit;  // a tenth
  uint64_t now = 5000 * kMillisecond, stopped = 0;
  const uint64_t begin = now;
  while (now < begin + 10'000 * kMillisecond) {
    now += 50 * kMicrosecond;
    const Paid paid = Pay(page_, kThread, Sharing::kUnknown, kMillisecond, now);
    if (paid.from == nullptr) continue;
    const uint64_t took = kMillisecond + 200 * kMicrosecond;  // it always takes longer
    Settle(page_, paid, took);
    stopped += took;
    now += took;
  }
  EXPECT_NEAR(static_cast<double>(stopped), 1000e6, 20e6);
}

TEST_F(SampleRules, AThreadKeepsOneLongPauseAndNoMore) {
  page_->is_threaded = 1;
  page_->pause_left_ns = 1000 * 1000 * kMillisecond;
  page_->pause_price = 10 * SamplePage::kPriceUnit;
  constexpr uint64_t kLate = 3600 * 1000 * kMillisecond;
  EXPECT_NE(Pay(page_, kThread, Sharing::kUnknown, 15 * kMillisecond, kLate).from, nullptr);
  EXPECT_EQ(Pay(page_, kThread, Sharing::kUnknown, kMillisecond, kLate).from, nullptr);
  EXPECT_NE(Pay(page_, kThread + 1, Sharing::kUnknown, kMillisecond, kLate).from, nullptr);
}

TEST_F(SampleRules, WhatTheProcessHasNotGotTheThreadHasNotSpent) {
  page_->is_threaded = 1;
  page_->pause_price = 10 * SamplePage::kPriceUnit;
  constexpr uint64_t kLate = 3600 * 1000 * kMillisecond;
  EXPECT_EQ(Pay(page_, kThread, Sharing::kUnknown, 15 * kMillisecond, kLate).from, nullptr);
  page_->pause_left_ns = 100 * kMillisecond;
  EXPECT_NE(Pay(page_, kThread, Sharing::kUnknown, 15 * kMillisecond, kLate).from, nullptr);
}

}  // namespace
}  // namespace redflag::sampling
