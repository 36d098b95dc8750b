#include "runtime/known_contexts.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace redflag::rt {
namespace {

class KnownContextsTest : public testing::Test {
 protected:
  struct alignas(64) Memory {
    char bytes[KnownContexts::kBytes] = {};
  };
  std::unique_ptr<Memory> memory_ = std::make_unique<Memory>();
  KnownContexts known_{memory_->bytes};
  std::mt19937_64 random_{7};
};

TEST_F(KnownContextsTest, NothingIsKnownAtFirst) {
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(known_.Find(KnownContexts::OfAccess(random_(), random_())), kNoContext);
    EXPECT_EQ(known_.Find(KnownContexts::Of(random_())), kNoContext);
  }
}

TEST_F(KnownContextsTest, WhatWasAddedIsFound) {
  const auto access = KnownContexts::OfAccess(0x1234567890abcdef, 0x5555'5555'1234);
  const auto other = KnownContexts::Of(0xfedcba9876543210);
  known_.Add(access, ContextId{PackedAccess::kMaxContext});
  known_.Add(other, ContextId{1});
  EXPECT_EQ(known_.Find(access), ContextId{PackedAccess::kMaxContext});
  EXPECT_EQ(known_.Find(other), ContextId{1});
  EXPECT_EQ(known_.Find(KnownContexts::OfAccess(0x1234567890abcdef, 0x5555'5555'1235)), kNoContext);
}

TEST_F(KnownContextsTest, TheOlderOfAPairMovesOnAndTheOldestGoes) {
  const auto key = [](uint64_t number) { return KnownContexts::Key{.number = number << 24, .place = 5}; };
  known_.Add(key(1), ContextId{11});
  known_.Add(key(2), ContextId{12});
  EXPECT_EQ(known_.Find(key(1)), ContextId{11});
  EXPECT_EQ(known_.Find(key(2)), ContextId{12});
  known_.Add(key(3), ContextId{13});
  EXPECT_EQ(known_.Find(key(1)), kNoContext);
  EXPECT_EQ(known_.Find(key(2)), ContextId{12});
  EXPECT_EQ(known_.Find(key(3)), ContextId{13});
}

// What a thread asks for again and again is nearly always known in the end, and never for something else.
TEST_F(KnownContextsTest, GrowsUntilWhatIsAskedForOftenStays) {
  constexpr uint32_t kFrames = 1000, kInstructions = 10;
  std::vector<std::pair<uint64_t, uint64_t>> asked;
  for (uint32_t i = 0; i < kFrames; ++i) {
    const uint64_t frame = random_();
    const uint64_t function = 0x5555'5555'0000 + random_() % (1 << 20);
    for (uint32_t j = 0; j < kInstructions; ++j) asked.emplace_back(frame, function + 17 * j);
  }
  uint32_t found = 0;
  for (int round = 0; round < 20; ++round) {
    found = 0;
    for (uint32_t i = 0; i < asked.size(); ++i) {
      const auto key = KnownContexts::OfAccess(asked[i].first, asked[i].second);
      const ContextId context = known_.Find(key);
      if (context == kNoContext) {
        known_.Add(key, ContextId{i + 1});
      } else {
        EXPECT_EQ(context, ContextId{i + 1});
        ++found;
      }
    }
  }
  EXPECT_GT(known_.size(), KnownContexts::kFewest);
  EXPECT_GT(found, asked.size() * 9 / 10);
}

TEST_F(KnownContextsTest, FewThatAreAskedForNeedNoLargerTable) {
  for (int round = 0; round < 100; ++round) {
    for (uint64_t i = 0; i < 1000; ++i) {
      const auto key = KnownContexts::OfAccess(0x9e3779b97f4a7c15 * (i / 10), 0x400000 + 5 * i);
      if (known_.Find(key) == kNoContext) known_.Add(key, ContextId{static_cast<uint32_t>(i) + 1});
    }
  }
  EXPECT_EQ(known_.size(), KnownContexts::kFewest);
}

}  // namespace
}  // namespace redflag::rt
