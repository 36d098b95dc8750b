#include "clocks/lockset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace redflag {
namespace {

HeldLock L(uint32_t lock, LockMode mode = LockMode::kExclusive) { return MakeHeldLock(SyncId{lock}, mode); }

class LocksetTest : public testing::Test {
 protected:
  LocksetId Intern(std::vector<HeldLock> locks) {
    std::sort(locks.begin(), locks.end());
    return table_.Intern(locks.data(), static_cast<uint32_t>(locks.size()));
  }
  std::vector<HeldLock> Elements(LocksetId id) {
    const LocksetView view = table_.View(id);
    return {view.begin(), view.end()};
  }

  Arena<PlainMem> arena_;
  LocksetTable<PlainMem> table_{arena_};
};

TEST_F(LocksetTest, EqualSetsHaveOneId) {
  EXPECT_EQ(Intern({}), kEmptyLockset);
  EXPECT_EQ(Intern({L(1), L(2)}), Intern({L(2), L(1)}));
  EXPECT_NE(Intern({L(1)}), Intern({L(2)}));
  EXPECT_NE(Intern({L(1)}), Intern({L(1, LockMode::kShared)})) << "the mode is part of the element";
}

TEST_F(LocksetTest, IntersectionIsThatOfSets) {
  std::mt19937 random(5);
  for (int i = 0; i < 3000; ++i) {
    std::set<HeldLock> a;
    std::set<HeldLock> b;
    for (int k = 0; k < 6; ++k) {
      a.insert(L(random() % 12));
      b.insert(L(random() % 12));
    }
    std::vector<HeldLock> expected;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(expected));
    const LocksetId ia = Intern({a.begin(), a.end()});
    const LocksetId ib = Intern({b.begin(), b.end()});
    EXPECT_EQ(Elements(table_.Intersect(ia, ib)), expected);
    EXPECT_EQ(table_.Intersect(ib, ia), table_.Intersect(ia, ib));
  }
  EXPECT_GT(table_.cache_hits(), 3000u) << "the reversed pair and the repetition come from the cache";
}

TEST_F(LocksetTest, IntersectionWithItselfAndWithNothing) {
  const LocksetId a = Intern({L(1), L(2)});
  EXPECT_EQ(table_.Intersect(a, a), a);
  EXPECT_EQ(table_.Intersect(a, kEmptyLockset), kEmptyLockset);
  EXPECT_EQ(table_.Intersect(a, Intern({L(3)})), kEmptyLockset);
}

TEST_F(LocksetTest, HeldLocksCountsReentrance) {
  HeldLocks<PlainMem> held(arena_, table_);
  EXPECT_TRUE(held.Acquire(SyncId{7}, LockMode::kExclusive));
  EXPECT_FALSE(held.Acquire(SyncId{7}, LockMode::kExclusive));
  EXPECT_FALSE(held.Release(SyncId{7}, LockMode::kExclusive));
  EXPECT_EQ(Elements(held.id()), std::vector{L(7)});
  EXPECT_TRUE(held.Release(SyncId{7}, LockMode::kExclusive));
  EXPECT_EQ(held.id(), kEmptyLockset);
  EXPECT_FALSE(held.Release(SyncId{7}, LockMode::kExclusive)) << "not held";
}

TEST_F(LocksetTest, HeldLocksNamesASetOnlyWhenAsked) {
  HeldLocks<PlainMem> held(arena_, table_);
  for (uint32_t i = 0; i < 4096; ++i) held.Acquire(SyncId{i}, LockMode::kShared);
  EXPECT_EQ(table_.size(), 1u);
  EXPECT_EQ(Elements(held.id()).size(), 4096u);
  EXPECT_EQ(table_.size(), 2u);
  for (uint32_t i = 0; i < 4096; ++i) EXPECT_TRUE(held.Release(SyncId{4095 - i}, LockMode::kShared));
  EXPECT_EQ(held.id(), kEmptyLockset);
}

TEST_F(LocksetTest, HeldSetsListOneOrTwoLocksAndNameMore) {
  HeldLocks<PlainMem> held(arena_, table_);
  EXPECT_TRUE(held.set().is_empty());
  held.Acquire(SyncId{0}, LockMode::kShared);
  EXPECT_TRUE(held.set().is_listed());
  EXPECT_FALSE(held.set().is_empty());
  held.Acquire(SyncId{(1u << 30) - 2}, LockMode::kExclusive);
  EXPECT_TRUE(held.set().is_listed());
  EXPECT_EQ(table_.size(), 1u) << "nothing had to be named";
  held.Acquire(SyncId{(1u << 30) - 1}, LockMode::kExclusive);
  EXPECT_FALSE(held.set().is_listed());
  held.Release(SyncId{0}, LockMode::kShared);
  EXPECT_FALSE(held.set().is_listed()) << "the number of one of them is too large";
  EXPECT_EQ(Elements(held.set().name()), (std::vector{L((1u << 30) - 2), L((1u << 30) - 1)}));
}

// Listed or named, each against each, and all kinds of accesses.
TEST_F(LocksetTest, WhatTwoAccessesHaveInCommonFollowsTheRuleOfReadersAndWriters) {
  constexpr LockMode kModes[] = {LockMode::kExclusive, LockMode::kShared};
  std::mt19937 random(7);
  int common = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::set<HeldLock> elements[2];
    HeldSet sets[2];
    for (int k = 0; k < 2; ++k) {
      HeldLocks<PlainMem> held(arena_, table_);
      for (uint32_t count = random() % 4; count > 0; --count) {
        const SyncId lock{static_cast<uint32_t>(random() % 5)};
        const LockMode mode = kModes[random() % 2];
        held.Acquire(lock, mode);
        elements[k].insert(MakeHeldLock(lock, mode));
      }
      sets[k] = random() % 2 == 0 ? held.set() : HeldSet::Named(held.id());
    }
    const bool writes[2] = {random() % 2 == 0, random() % 2 == 0};
    bool expected = false;
    for (const HeldLock a : elements[0]) {
      for (const HeldLock b : elements[1]) {
        const bool counts =
            !(writes[0] && ModeOf(a) == LockMode::kShared) && !(writes[1] && ModeOf(b) == LockMode::kShared);
        expected |= counts && LockOf(a) == LockOf(b);
      }
    }
    ASSERT_EQ(table_.HaveCommon(sets[0], writes[0], sets[1], writes[1]), expected);
    if (sets[0].is_listed() && sets[1].is_listed()) {
      ASSERT_EQ(HeldSet::HaveCommon(sets[0], writes[0], sets[1], writes[1]), expected);
    }
    common += expected ? 1 : 0;
  }
  EXPECT_GT(common, 2'000);
  EXPECT_LT(common, 18'000);
}

}  // namespace
}  // namespace redflag
