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

}  // namespace
}  // namespace redflag
