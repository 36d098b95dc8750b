#include "base/arena.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace redflag {
namespace {

TEST(ArenaTest, BlocksAreAlignedAndDistinct) {
  Arena<PlainMem> arena;
  std::set<uintptr_t> seen;
  for (size_t bytes : {1, 16, 17, 100, 4096, 100'000, 3'000'000}) {
    void* block = arena.Allocate(bytes);
    std::memset(block, 0xab, bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 16, 0u);
    EXPECT_TRUE(seen.insert(reinterpret_cast<uintptr_t>(block)).second);
  }
}

TEST(ArenaTest, FreedBlocksAreUsedAgain) {
  Arena<PlainMem> arena;
  void* first = arena.Allocate(100);
  arena.Free(first, 100);
  EXPECT_EQ(arena.Allocate(128), first) << "100 and 128 bytes are of one size class";
}

TEST(ArenaTest, InUseFollowsAllocateAndFree) {
  Arena<PlainMem> arena;
  EXPECT_EQ(arena.in_use(), 0u);
  void* block = arena.Allocate(100);
  EXPECT_EQ(arena.in_use(), 128u);
  arena.Free(block, 100);
  EXPECT_EQ(arena.in_use(), 0u);
}

TEST(ArenaTest, LongUseWithoutGrowthTakesNoMoreFromTheSystem) {
  Arena<PlainMem> arena;
  for (int i = 0; i < 1000; ++i) arena.Free(arena.Allocate(1000), 1000);
  const size_t mapped = arena.mapped();
  for (int i = 0; i < 100'000; ++i) arena.Free(arena.Allocate(1000), 1000);
  EXPECT_EQ(arena.mapped(), mapped);
}

TEST(ArenaTest, RecycledMemoryIsHandedOutAgain) {
  Arena<PlainMem> arena;
  const auto use = [&] {
    for (int i = 0; i < 3000; ++i) static_cast<char*>(arena.Allocate(1000))[999] = 1;
    arena.Free(arena.Allocate(3 << 20), 3 << 20);
  };
  use();
  const size_t mapped = arena.mapped();
  for (int i = 0; i < 10; ++i) {
    EXPECT_NE(arena.in_use(), 0u);
    arena.Recycle();
    EXPECT_EQ(arena.in_use(), 0u);
    use();
  }
  EXPECT_LE(arena.mapped(), mapped + mapped / 2 + (size_t{8} << 20))
      << "regions that a block does not fit into are passed over";
}

// Parts that are taken in turn, in place of threads.
struct PartsMem : PlainMem {
  static constexpr uint32_t kShards = 4;
  static inline uint32_t part = 0;
  static uint32_t Shard() { return part; }
};

TEST(ArenaTest, WhatAnotherPartGaveBackIsTakenBeforeTheSystemIsAsked) {
  Arena<PartsMem> arena;
  const auto pass = [&](int times) {  // from the one who allocates to the one who frees
    for (int i = 0; i < times; ++i) {
      PartsMem::part = 0;
      void* block = arena.Allocate(1000);
      PartsMem::part = static_cast<uint32_t>(i) % 3 + 1;
      arena.Free(block, 1000);
    }
  };
  pass(5000);
  const size_t mapped = arena.mapped();
  pass(100'000);
  EXPECT_EQ(arena.mapped(), mapped);
  EXPECT_EQ(arena.in_use(), 0u);
}

TEST(ArenaTest, ThreadsShareOneUnderAtomicMem) {
  Arena<AtomicMem> arena;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&arena, t] {
      std::vector<uint64_t*> mine;
      for (int i = 0; i < 2000; ++i) {
        mine.push_back(static_cast<uint64_t*>(arena.Allocate(64)));
        for (int w = 0; w < 8; ++w) mine.back()[w] = static_cast<uint64_t>(t);
        if (i % 3 == 0) {
          arena.Free(mine.front(), 64);
          mine.erase(mine.begin());
        }
      }
      for (uint64_t* block : mine) {
        for (int w = 0; w < 8; ++w) ASSERT_EQ(block[w], static_cast<uint64_t>(t));
        arena.Free(block, 64);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(arena.in_use(), 0u);
}

}  // namespace
}  // namespace redflag
