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

constexpr uint64_t kSlack = 100 * kMicrosecond;

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
  while (Pay(page_, Sharing::kUnknown, 4).from != nullptr) {
  }
  EXPECT_EQ(page_->shared_left_ns, 10);
  const Paid paid = Pay(page_, Sharing::kShared, 10);
  EXPECT_EQ(paid.from, &page_->shared_left_ns);
  Settle(page_, paid, 15);
  EXPECT_EQ(page_->shared_left_ns, -5);
  EXPECT_EQ(Pay(page_, Sharing::kShared, 2).from, &page_->pause_left_ns);  // then they take what is there
  EXPECT_EQ(Pay(page_, Sharing::kShared, 2).from, nullptr);
}

TEST_F(SampleRules, OneThreadAloneLeavesSomeForOthers) {
  page_->pause_left_ns = 15 * kMillisecond;
  while (Pay(page_, Sharing::kUnknown, kShortest).from != nullptr) {
  }
  EXPECT_NEAR(static_cast<double>(page_->pause_left_ns), 7.5e6, 1e6);
  page_->is_threaded = 1;
  EXPECT_NE(Pay(page_, Sharing::kUnknown, kShortest).from, nullptr);
}

}  // namespace
}  // namespace redflag::sampling
