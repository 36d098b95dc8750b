// The matrix and single sets against sets of the standard library, by random events.
#include "clocks/lockset_matrix.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>
#include <vector>

#include "base/mem.h"

namespace redflag {
namespace {

struct Item {
  uint32_t row = 0;
  std::set<Element> expected;
};
using Matrix = LocksetMatrix<PlainMem, Item>;

Element E(uint64_t id) { return MakeElement(ElementKind::kCarried, id); }

void Apply(const SyncEvent& event, std::set<Element>& set) {
  if (event.takes_out()) {
    set.erase(event.to);
  } else if (set.contains(event.from)) {
    set.insert(event.to);
  }
}

TEST(ElementSetTest, DoesWhatASetDoes) {
  std::mt19937 random(1);
  Arena<PlainMem> arena;
  for (int round = 0; round < 50; ++round) {
    ElementSet<PlainMem> set(E(7));
    std::set<Element> expected{E(7)};
    const uint32_t range = 1 + random() % 300;
    for (int i = 0; i < 500; ++i) {
      const Element element = E(random() % range);
      ASSERT_EQ(set.Contains(element), expected.contains(element));
      if (random() % 3 == 0) {
        set.Remove(element);
        expected.erase(element);
      } else {
        set.Add(arena, element);
        expected.insert(element);
      }
      ASSERT_EQ(set.size(), expected.size());
    }
    std::set<Element> seen;
    set.ForEach([&](Element element) { seen.insert(element); });
    EXPECT_EQ(seen, expected);
    set.Free(arena);
  }
  EXPECT_EQ(arena.in_use(), 0u);
}

TEST(LocksetMatrixTest, RowsEvolveLikeSetsOfTheirOwn) {
  std::mt19937 random(2);
  Arena<PlainMem> arena;
  {
    Matrix matrix(arena);
    std::vector<std::unique_ptr<Item>> items;
    for (int step = 0; step < 20'000; ++step) {
      const uint32_t what = random() % 10;
      if (what < 2) {
        Item& item = *items.emplace_back(std::make_unique<Item>());
        ElementSet<PlainMem> set(E(random() % 40));
        for (uint32_t i = random() % 5; i != 0; --i) set.Add(arena, E(random() % 40));
        set.ForEach([&](Element element) { item.expected.insert(element); });
        matrix.Add(item, set);
        set.Free(arena);
      } else if (what == 2 && !items.empty()) {
        // Now and then nearly all of them go at once.
        const uint32_t count = random() % 500 == 0 ? static_cast<uint32_t>(items.size()) - 1 : 1;
        for (uint32_t i = 0; i < count; ++i) {
          std::swap(items[random() % items.size()], items.back());
          matrix.Remove(*items.back());
          items.pop_back();
        }
      } else {
        const SyncEvent event{.from = random() % 4 == 0 ? kNoElement : E(random() % 40), .to = E(random() % 40)};
        matrix.Apply(event);
        for (auto& item : items) Apply(event, item->expected);
      }
      if (step % 50 != 0) continue;
      ASSERT_EQ(matrix.live(), items.size());
      for (auto& item : items) {
        std::set<Element> seen;
        matrix.ForEachElement(*item, [&](Element element) { seen.insert(element); });
        ASSERT_EQ(seen, item->expected);
        ASSERT_EQ(matrix.Contains(*item, E(3)), item->expected.contains(E(3)));
      }
    }
  }
  EXPECT_EQ(arena.in_use(), 0u);
}

TEST(LocksetMatrixTest, EqualRowsBecomeOneAndDifferentOnesDoNot) {
  Arena<PlainMem> arena;
  Matrix matrix(arena);
  std::vector<Item> items(200);
  for (uint32_t i = 0; i < items.size(); ++i) {
    ElementSet<PlainMem> set(E(i % 10));
    set.Add(arena, E(100 + i % 2));
    matrix.Add(items[i], set);
  }
  uint32_t merged = 0;
  const auto merge = [&] {
    matrix.Merge([&](Item& gone, Item& stays) {
      EXPECT_EQ((&gone - items.data()) % 10, (&stays - items.data()) % 10);
      ++merged;
    });
  };
  merge();
  EXPECT_EQ(merged, 190u);
  EXPECT_EQ(matrix.live(), 10u);
  merge();
  EXPECT_EQ(merged, 190u) << "it waits until there are many again";
}

}  // namespace
}  // namespace redflag
