// Regions: whoever is in one as its owner is alone, whatever the others do.
#include "runtime/regions.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace redflag::rt {

// The tests' own, in place of the runtime's.
thread_local constinit Local local = {};

namespace {

// Words of planes that came back, and of which address.
std::vector<std::pair<uint64_t, uint64_t>> taken_in;

constexpr uint64_t kBytes = uint64_t{1} << Regions::kShift;

class RegionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    regions_->Start(true, [](uint64_t addr, uint64_t word) { taken_in.push_back({addr, word}); });
    taken_in.clear();
    if (!regions_->can_own()) GTEST_SKIP() << "this system has no membarrier: everything is shared";
  }

  // What a thread of the program does.
  template <class Body>
  std::thread Run(Body body) {
    return std::thread([this, body] {
      regions_->Join();
      const auto planes = std::make_unique<PlaneOf[]>(Planes::kRemembered);
      Planes::Prepare(planes.get());
      local.planes = planes.get();
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

TEST_F(RegionsTest, LargePartsThatNobodyEnteredAreLeftOut) {
  constexpr uint64_t kHuge = uint64_t{1} << 33, kInside = uint64_t{5} << 30;
  const auto entered = [&](uint64_t addr, uint64_t bytes) {
    std::vector<std::pair<uint64_t, uint64_t>> parts;
    regions_->ForEachEntered(addr, bytes, [&](uint64_t first, uint64_t count) { parts.push_back({first, count}); });
    return parts;
  };
  EXPECT_TRUE(entered(0, kHuge).empty());
  Run([&] { Regions::Stay(*regions_, kInside); }).join();
  const auto parts = entered(0, kHuge);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_LE(parts[0].first, kInside);
  EXPECT_GT(parts[0].first + parts[0].second, kInside);
  using Parts = std::vector<std::pair<uint64_t, uint64_t>>;
  EXPECT_EQ(entered(kInside - 8, 16), (Parts{{kInside, 8}}));
  EXPECT_EQ(entered(kInside + 24, 100), (Parts{{kInside + 24, 100}}));
  EXPECT_TRUE(entered(kInside - 8, 8).empty());
}

TEST_F(RegionsTest, WhoOnlyReadsDoesNotTakeOver) {
  Run([&] {
    EXPECT_TRUE(Regions::Stay(*regions_, 0).is_owner());
    Run([&] {
      const Regions::Stay stay(*regions_, 0, true);
      EXPECT_TRUE(stay.is_reading());
      EXPECT_FALSE(stay.is_owner() || stay.is_shared());
    }).join();
    EXPECT_TRUE(Regions::Window(0).is_reading());
    EXPECT_TRUE(Regions::Stay(*regions_, 0, true).is_reading());
    EXPECT_TRUE(Regions::Stay(*regions_, 0).is_owner());
    EXPECT_TRUE(Regions::Stay(*regions_, 0, true).is_owner());
  }).join();
}

// Nobody takes over from anybody.
constexpr auto kNoHeir = [](Slot, const uint64_t*, auto) { return false; };

TEST_F(RegionsTest, WhatWasReadComesBackWhenSomebodyWrites) {
  constexpr uint64_t kFirst = 5 * kBytes;
  constexpr Slot kSlot{1};
  Run([&] {
    {
      const Regions::Stay stay(*regions_, kFirst);
    }
    Run([&] {
      {
        const Regions::Stay stay(*regions_, kFirst, true);
      }
      EXPECT_EQ(regions_->PlaneWord(kFirst, kSlot), nullptr);
      regions_->AttachPlane(kFirst, kSlot, kNoHeir);
      *regions_->PlaneWord(kFirst + 16, kSlot) = 71;
      *regions_->PlaneWord(kFirst + kBytes - 1, kSlot) = 72;
      EXPECT_EQ(regions_->PlaneWord(kFirst, Slot{2}), nullptr) << "that of another slot";
    }).join();
    EXPECT_TRUE(taken_in.empty());
    {
      const Regions::Stay stay(*regions_, kFirst);
    }
    EXPECT_EQ(taken_in, (std::vector<std::pair<uint64_t, uint64_t>>{{kFirst + 16, 71}, {kFirst + kBytes - 8, 72}}));
    EXPECT_EQ(regions_->PlaneWord(kFirst, kSlot), nullptr);
  }).join();
}

// Whoever inherits a plane finds what stands there, and what it notes comes back with that; who had it finds it no more.
TEST_F(RegionsTest, APlaneIsInheritedAsItIs) {
  constexpr Slot kEnded{1}, kHeir{2};
  Run([&] {
    {
      const Regions::Stay stay(*regions_, 0);
    }
    Run([&] {
      {
        const Regions::Stay stay(*regions_, 0, true);
      }
      regions_->AttachPlane(0, kEnded, kNoHeir);
      *regions_->PlaneWord(16, kEnded) = 71;
      *regions_->PlaneWord(24, kEnded) = 72;
    }).join();
    Run([&] {
      {
        const Regions::Stay stay(*regions_, 0, true);
      }
      regions_->AttachPlane(0, kHeir, [&](Slot of, const uint64_t* words, auto take) {
        EXPECT_EQ(of, kEnded);
        EXPECT_EQ(words[2], 71u);
        take();
        return true;
      });
      EXPECT_EQ(regions_->PlaneWord(0, kEnded), nullptr);
      EXPECT_EQ(*regions_->PlaneWord(16, kHeir), 71u);
      *regions_->PlaneWord(24, kHeir) = 73;
      *regions_->PlaneWord(32, kHeir) = 74;
    }).join();
    {
      const Regions::Stay stay(*regions_, 0);
    }
    EXPECT_EQ(taken_in, (std::vector<std::pair<uint64_t, uint64_t>>{{16, 71}, {24, 73}, {32, 74}}));
  }).join();
}

// A plane that was given back serves another page: whoever remembers it as that of the first must not store there.
TEST_F(RegionsTest, PlaneThatWasGivenBackIsNotTheOldOne) {
  constexpr Slot kSlot{1};
  Run([&] {
    {
      const Regions::Stay stay(*regions_, 0);
    }
    {
      const Regions::Stay stay(*regions_, kBytes);
    }
    Run([&] {
      {
        const Regions::Stay stay(*regions_, 0, true);
      }
      regions_->AttachPlane(0, kSlot, kNoHeir);
      uint64_t* const word = regions_->PlaneWord(0, kSlot);
      {
        const Regions::Stay stay(*regions_, 0);
      }
      {
        const Regions::Stay stay(*regions_, kBytes, true);
      }
      regions_->AttachPlane(kBytes, kSlot, kNoHeir);
      ASSERT_EQ(regions_->PlaneWord(kBytes, kSlot), word) << "the test wants the same plane";
      EXPECT_EQ(Planes::Recall(local.planes, 0), nullptr) << "remembered as that of two pages";
      EXPECT_EQ(regions_->PlaneWord(0, kSlot), nullptr);
    }).join();
  }).join();
}

// Readers note what they read in windows; a writer that stays finds all of it, and nobody notes anything meanwhile.
TEST_F(RegionsTest, NothingThatIsReadIsLost) {
  constexpr uint64_t kReaders = 3, kRegions = 40, kTurns = 3;
  std::atomic<uint64_t> current = 0;  // the region that all are in
  std::atomic<bool> stop = false;
  std::vector<std::atomic<uint64_t>> noted(kReaders);  // the latest word of each in it
  std::vector<std::thread> threads;
  threads.reserve(kReaders);
  for (uint64_t i = 0; i < kReaders; ++i) {
    threads.push_back(Run([&, i] {
      const Slot slot{static_cast<uint16_t>(i)};
      for (uint64_t next = 1; !stop;) {
        const uint64_t addr = current * kBytes + i * 8;
        bool attach = false;
        {
          const Regions::Stay stay(*regions_, addr, true);
          if (stay.is_reading()) {
            uint64_t* word = regions_->PlaneWord(addr, slot);
            attach = word == nullptr;
            if (!attach) {
              __atomic_store_n(word, next, __ATOMIC_RELAXED);
              noted[i] = next++;
            }
          }
        }
        if (attach) regions_->AttachPlane(addr, slot, kNoHeir);
      }
    }));
  }
  uint64_t found = 0;
  Run([&] {
    for (uint64_t region = 1; region <= kRegions; ++region) {
      {
        const Regions::Stay stay(*regions_, region * kBytes);
      }
      current = region;
      const auto is_shared = [&] { return Regions::Window(region * kBytes).is_shared(); };
      for (uint64_t turn = 0; turn < kTurns; ++turn) {
        taken_in.clear();
        for (uint64_t i = 0; i < kReaders; ++i) {
          const uint64_t before = noted[i];
          // The first may have been in the region before.
          while (noted[i] < before + 2 && !is_shared()) std::this_thread::yield();
        }
        const Regions::Stay stay(*regions_, region * kBytes);
        if (!stay.is_owner()) break;  // it has changed hands too often
        // Readers may have come between taking it and staying: then there are older words too.
        std::map<uint64_t, uint64_t> latest;
        for (const auto& [addr, word] : taken_in) latest[addr] = word;
        for (const auto& [addr, word] : latest) {
          if (addr / kBytes != region) continue;  // that a reader was late in
          EXPECT_EQ(noted[addr % kBytes / 8], word);
          ++found;
        }
      }
    }
  }).join();
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(found, 0u);
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
