#include "base/hash_map.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <unordered_map>

namespace redflag {
namespace {

TEST(HashMapTest, BehavesLikeTheStandardMapUnderRandomUse) {
  Arena<PlainMem> arena;
  HashMap<uint64_t, PlainMem> map(arena);
  std::unordered_map<uint64_t, uint64_t> model;
  std::mt19937_64 random(7);
  for (int i = 0; i < 200'000; ++i) {
    const uint64_t key = random() % 500 * 4096;  // few keys, and alike in their low bits
    switch (random() % 3) {
      case 0: {
        const uint64_t value = random();
        map.Insert(key) = value;
        model[key] = value;
        break;
      }
      case 1:
        EXPECT_EQ(map.Erase(key), model.erase(key) == 1);
        break;
      default: {
        const uint64_t* found = map.Find(key);
        const auto expected = model.find(key);
        ASSERT_EQ(found != nullptr, expected != model.end());
        if (found != nullptr) {
          ASSERT_EQ(*found, expected->second);
        }
      }
    }
    ASSERT_EQ(map.size(), model.size());
  }
  uint64_t visited = 0;
  map.ForEach([&](uint64_t key, uint64_t value) {
    ++visited;
    EXPECT_EQ(model.at(key), value);
  });
  EXPECT_EQ(visited, model.size());
}

TEST(HashMapTest, InsertGivesAZeroedValueOnce) {
  Arena<PlainMem> arena;
  HashMap<int, PlainMem> map(arena);
  EXPECT_EQ(map.Insert(0), 0) << "zero is a key like any other";
  map.Insert(0) = 5;
  EXPECT_EQ(map.Insert(0), 5);
}

TEST(HashMapTest, GivesItsMemoryBack) {
  Arena<PlainMem> arena;
  {
    HashMap<int, PlainMem> map(arena);
    for (uint64_t key = 0; key < 1000; ++key) map.Insert(key);
  }
  EXPECT_EQ(arena.in_use(), 0u);
}

}  // namespace
}  // namespace redflag
