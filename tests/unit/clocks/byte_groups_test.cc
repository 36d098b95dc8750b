#include "clocks/byte_groups.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

namespace redflag {
namespace {

struct Count {
  int value = 100;  // not zero, so that fresh is told from zeroed
  bool operator==(const Count&) const = default;
};

TEST(ByteGroupsTest, BehavesLikeAStateForEachByteUnderRandomUse) {
  Arena<PlainMem> arena;
  ByteGroups<Count, PlainMem> groups{};
  std::array<int, 8> model;
  model.fill(100);
  std::mt19937 random(9);
  for (int step = 0; step < 20'000; ++step) {
    const ByteMask bytes{static_cast<uint8_t>(random() % 255 + 1)};
    if (random() % 8 == 0) {
      groups.Forget(arena, bytes);
      for (int i = 0; i < 8; ++i) model[i] = (Raw(bytes) >> i & 1) != 0 ? 100 : model[i];
    } else {
      const int add = static_cast<int>(random() % 3);
      ByteMask seen = kNoBytes;
      groups.Visit(arena, bytes, [&](ByteMask mask, Count& count) {
        EXPECT_EQ(seen & mask, kNoBytes) << "groups are disjoint";
        seen = seen | mask;
        for (int i = 0; i < 8; ++i) {
          if ((Raw(mask) >> i & 1) != 0) {
            ASSERT_EQ(count.value, model[i]);
          }
        }
        count.value = (count.value + add) % 103;
      });
      EXPECT_EQ(seen, bytes);
      for (int i = 0; i < 8; ++i) {
        if ((Raw(bytes) >> i & 1) != 0) model[i] = (model[i] + add) % 103;
      }
    }
  }
  groups.Forget(arena, kAllBytes);
  EXPECT_EQ(arena.in_use(), 0u);
}

TEST(ByteGroupsTest, BytesTouchedTogetherAreOneGroup) {
  Arena<PlainMem> arena;
  ByteGroups<Count, PlainMem> groups{};
  const auto size = [&] {
    int n = 0;
    groups.ForEachGroup([&](ByteMask, const Count&) { ++n; });
    return n;
  };
  groups.Visit(arena, kAllBytes, [](ByteMask, Count& count) { count.value = 1; });
  EXPECT_EQ(size(), 1);
  groups.Visit(arena, ByteMask{0x0f}, [](ByteMask, Count& count) { count.value = 2; });
  EXPECT_EQ(size(), 2);
  groups.Visit(arena, ByteMask{0xf0}, [](ByteMask, Count& count) { count.value = 2; });
  EXPECT_EQ(size(), 1) << "equal states merge";
  EXPECT_EQ(arena.in_use(), 0u) << "and cost nothing extra";
}

// Counts copies and ends, as a state that holds a reference would.
struct Ledger {
  void OnCopy(Count&) { ++owners; }
  void OnDrop(Count&) { --owners; }
  int owners = 0;
};

TEST(ByteGroupsTest, HooksSeeEveryCopyAndEveryEnd) {
  Arena<PlainMem> arena;
  ByteGroups<Count, PlainMem> groups{};
  Ledger ledger;
  const auto groups_now = [&] {
    int n = 0;
    groups.ForEachGroup([&](ByteMask, const Count&) { ++n; });
    return n;
  };
  std::mt19937 random(4);
  for (int step = 0; step < 5000; ++step) {
    const ByteMask bytes{static_cast<uint8_t>(random() % 255 + 1)};
    const int before = ledger.owners;
    int fresh = 0;
    if (random() % 5 == 0) {
      groups.Forget(arena, bytes, ledger);
    } else {
      const int value = static_cast<int>(random() % 4);
      groups.Visit(
          arena, bytes,
          [&](ByteMask, Count& count) {
            fresh += count.value == 100;
            count.value = value;
          },
          ledger);
    }
    ledger.owners += fresh;  // the visitor made them its own
    ASSERT_EQ(ledger.owners, groups_now()) << "step " << step << ", before " << before;
  }
}

}  // namespace
}  // namespace redflag
