// Regions: whoever is in one as its owner is alone, whatever the others do.
#include "runtime/regions.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace redflag::rt {

// The tests' own, in place of the runtime's.
thread_local constinit Local local = {};

namespace {

constexpr uint64_t kBytes = uint64_t{1} << Regions::kShift;

class RegionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    regions_->Start(true);
    if (!regions_->can_own()) GTEST_SKIP() << "this system has no membarrier: everything is shared";
  }

  // What a thread of the program does.
  template <class Body>
  std::thread Run(Body body) {
    return std::thread([this, body] {
      regions_->Join();
      body();
      regions_->Leave();
      local = {};
    });
  }

  std::unique_ptr<Regions> regions_ = std::make_unique<Regions>();
};

TEST_F(RegionsTest, FirstComerOwnsAndTheNextTakesOver) {
  Run([&] {
    EXPECT_FALSE(Regions::Window(0).is_owner());
    EXPECT_TRUE(Regions::Stay(*regions_, 0).is_owner());
    EXPECT_TRUE(Regions::Window(8).is_owner());
    EXPECT_FALSE(Regions::Window(kBytes).is_owner());
    Run([&] {
      EXPECT_FALSE(Regions::Window(0).is_owner());
      EXPECT_TRUE(Regions::Stay(*regions_, 0).is_owner());
    }).join();
    EXPECT_FALSE(Regions::Window(0).is_owner());
  }).join();
}

TEST_F(RegionsTest, WhatChangesHandsOftenIsShared) {
  Run([&] {
    for (uint32_t i = 0; i < Regions::kMostChanges; ++i) {
      EXPECT_TRUE(Regions::Stay(*regions_, 0).is_owner() || Regions::Stay(*regions_, 0).is_shared());
      Run([&] { const Regions::Stay stay(*regions_, 0); }).join();
    }
    const Regions::Stay stay(*regions_, 0);
    EXPECT_TRUE(stay.is_shared());
    EXPECT_FALSE(stay.is_owner());
  }).join();
}

TEST_F(RegionsTest, PartsOfARangeAreEachEntered) {
  Run([&] {
    std::vector<uint64_t> sizes;
    regions_->ForEach(kBytes - 8, kBytes + 16, [&](uint64_t, uint64_t bytes, bool is_own) {
      EXPECT_TRUE(is_own);
      sizes.push_back(bytes);
    });
    EXPECT_EQ(sizes, (std::vector<uint64_t>{8, kBytes, 8}));
  }).join();
}

// More threads than can own anything: the others share.
TEST_F(RegionsTest, ThreadsWithoutANumberShare) {
  std::vector<std::thread> threads;
  std::atomic<uint32_t> ready = 0;
  std::atomic<uint32_t> owners = 0;
  constexpr uint32_t kThreads = Regions::kOwners + 8;
  threads.reserve(kThreads);
  for (uint32_t i = 0; i < kThreads; ++i) {
    threads.push_back(Run([&, i] {
      const bool owns = Regions::Stay(*regions_, i * kBytes).is_owner();
      owners += owns ? 1 : 0;
      ++ready;
      while (ready < kThreads) std::this_thread::yield();
    }));
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(owners, Regions::kOwners - 1);
}

// Plain increments by owners and atomic ones by sharers: none may be lost.
TEST_F(RegionsTest, OwnersAreAlone) {
  constexpr int kThreads = 4;
  constexpr int kRegions = 4'000;
  constexpr int kRounds = 400'000;
  std::vector<uint64_t> counts(kRegions);
  std::vector<std::thread> threads;
  std::atomic<uint64_t> owned = 0;
  threads.reserve(kThreads);
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.push_back(Run([&, thread] {
      uint64_t random = static_cast<uint64_t>(thread) + 1;
      uint64_t mine = 0;
      for (int i = 0; i < kRounds * kThreads; ++i) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        // A few at a time, so that there is something to own.
        const auto region = static_cast<uint64_t>(i / 200 * 3 + static_cast<int>(random >> 62)) % kRegions;
        const auto add = [&](bool is_owner) {
          uint64_t& count = counts[region];
          if (is_owner) {
            const uint64_t old = __atomic_load_n(&count, __ATOMIC_RELAXED);
            for (int wait = 0; wait < 3; ++wait) __atomic_signal_fence(__ATOMIC_SEQ_CST);
            __atomic_store_n(&count, old + 1, __ATOMIC_RELAXED);
            ++mine;
          } else {
            __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
          }
        };
        {
          const Regions::Window window(region * kBytes);
          if (window.is_owner() || window.is_shared()) {
            add(window.is_owner());
            continue;
          }
        }
        const Regions::Stay stay(*regions_, region * kBytes);
        add(stay.is_owner());
      }
      owned += mine;
    }));
  }
  for (std::thread& thread : threads) thread.join();
  uint64_t total = 0;
  for (const uint64_t count : counts) total += count;
  EXPECT_EQ(total, uint64_t{kThreads} * kThreads * kRounds);
  EXPECT_GT(owned, 0u);
}

}  // namespace
}  // namespace redflag::rt
