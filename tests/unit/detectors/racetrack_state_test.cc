// The encoding of RaceTrack's state and the table of threadsets.
#include "detectors/racetrack_state.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "base/mem.h"
#include "detectors/racetrack_threadset.h"

namespace redflag {
namespace {

class PackedLocksetTest : public testing::Test {
 protected:
  LocksetId Named(const std::vector<HeldLock>& locks) {
    return table_.Intern(locks.data(), static_cast<uint32_t>(locks.size()));
  }
  static HeldLock At(uint32_t lock) { return MakeHeldLock(SyncId{lock}, LockMode::kExclusive); }
  PackedLockset Packed(const std::vector<uint32_t>& locks) {
    std::vector<HeldLock> held;
    for (const uint32_t lock : locks) held.push_back(At(lock));
    return Pack(table_, Named(held));
  }
  std::set<uint32_t> Members(PackedLockset set) {
    std::set<uint32_t> members;
    ForEachLock(table_, set, [&](HeldLock lock) { members.insert(Raw(LockOf(lock))); });
    return members;
  }

  Arena<PlainMem> arena_;
  LocksetTable<PlainMem> table_{arena_};
};

TEST_F(PackedLocksetTest, UpToTwoLocksAreStoredInPlace) {
  EXPECT_EQ(Packed({}), kNoLocks);
  EXPECT_FALSE(IsById(Packed({0})));
  EXPECT_FALSE(IsById(Packed({0, 7})));
  EXPECT_TRUE(IsById(Packed({0, 7, 9})));
  EXPECT_EQ(Members(Packed({0, 7})), (std::set<uint32_t>{0, 7}));
  EXPECT_EQ(Members(Packed({0, 7, 9})), (std::set<uint32_t>{0, 7, 9}));
}
TEST_F(PackedLocksetTest, LocksWithLargeIdsGoByTheSetsId) {
  EXPECT_FALSE(IsById(Packed({(1u << 30) - 3})));
  EXPECT_TRUE(IsById(Packed({(1u << 30) - 2}))) << "that code is TL's";
  EXPECT_TRUE(IsById(Packed({5, 1u << 30})));
  EXPECT_EQ(Members(Packed({5, 1u << 30})), (std::set<uint32_t>{5, 1u << 30}));
}
TEST_F(PackedLocksetTest, TheTransactionLockFitsBesideAnother) {
  const PackedLockset set = Pack(table_, Named({At(3), kTransactionLock}));
  EXPECT_FALSE(IsById(set));
  EXPECT_EQ(Intersect(table_, set, Pack(table_, Named({kTransactionLock}))), Pack(table_, Named({kTransactionLock})));
}
TEST_F(PackedLocksetTest, IntersectionsOfAllFormsAgreeWithSets) {
  const std::vector<std::vector<uint32_t>> sets = {{},           {1},       {2},          {1, 2},        {2, 3},
                                                   {1, 2, 3},    {2, 3, 4}, {5, 6, 7},    {1, 1u << 30}, {1u << 30},
                                                   {1, 2, 3, 4}, {4, 9},    {3, 1u << 30}};
  for (const auto& a : sets) {
    for (const auto& b : sets) {
      std::set<uint32_t> expected;
      for (const uint32_t lock : a) {
        if (std::set<uint32_t>(b.begin(), b.end()).contains(lock)) expected.insert(lock);
      }
      const PackedLockset common = Intersect(table_, Packed(a), Packed(b));
      EXPECT_EQ(Members(common), expected);
      EXPECT_EQ(common, Packed({expected.begin(), expected.end()})) << "one set has one form";
    }
  }
}

TEST(TrackStateTest, EveryStateGivesBackWhatWasPutIn) {
  using Phase = TrackState::Phase;
  EXPECT_EQ(TrackState{}.phase(), Phase::kVirgin);
  EXPECT_EQ(TrackState::Exclusive0(Tid{0}).phase(), Phase::kExclusive0);
  EXPECT_EQ(TrackState::Exclusive0(Tid{UINT32_MAX - 1}).thread(), Tid{UINT32_MAX - 1});
  const Epoch label = MakeEpoch(Slot{0xffff}, Time{kMaxTime});
  EXPECT_EQ(TrackState::Exclusive1(Tid{4}, label).label(), label);
  EXPECT_EQ(TrackState::Exclusive1(Tid{4}, label).thread(), Tid{4});
  const PackedLockset widest = PackCodes(kLockMask, kLockMask);
  for (const PackedLockset locks : {kNoLocks, widest, PackId(LocksetId{UINT32_MAX})}) {
    EXPECT_EQ(TrackState::SharedRead(locks).locks(), locks);
    EXPECT_EQ(TrackState::SharedRead(locks).phase(), Phase::kSharedRead);
    EXPECT_EQ(TrackState::SharedModify1(locks).locks(), locks);
    EXPECT_EQ(TrackState::SharedModify1(locks).phase(), Phase::kSharedModify1);
    EXPECT_EQ(TrackState::Exclusive2(locks, label).locks(), locks);
    EXPECT_EQ(TrackState::Exclusive2(locks, label).label(), label);
    EXPECT_EQ(TrackState::SharedModify2(locks, &label).locks(), locks);
    EXPECT_EQ(TrackState::SharedModify2(locks, &label).threadset(), &label);
    EXPECT_EQ(TrackState::SharedModify2(locks, &label).phase(), Phase::kSharedModify2);
  }
  EXPECT_EQ(TrackState::Race(Tid{9}, 3).phase(), Phase::kRace);
  EXPECT_EQ(TrackState::Race(Tid{9}, 3).thread(), Tid{9});
  EXPECT_EQ(TrackState::Race(Tid{9}, 3).reports(), 3u);
  alignas(16) char chunk[16];
  EXPECT_EQ(TrackState::Refined(chunk).fields(), chunk);
  EXPECT_EQ(TrackState::Refined(chunk).phase(), Phase::kRefined);
}

class ThreadsetTest : public testing::Test {
 protected:
  static Epoch At(uint16_t slot, uint64_t time) { return MakeEpoch(Slot{slot}, Time{time}); }
  static constexpr auto kKnowsNothing = [](Epoch) { return false; };

  Arena<PlainMem> arena_;
  ThreadsetTable<PlainMem> table_{arena_};
};

TEST_F(ThreadsetTest, EqualSetsAreOneSet) {
  const Threadset* a = table_.Pair(At(3, 1), At(1, 5));
  const Threadset* b = table_.Pair(At(1, 5), At(3, 1));
  EXPECT_EQ(a, b);
  EXPECT_EQ(table_.size(), 1u);
  EXPECT_EQ(a->begin()[0], At(1, 5)) << "sorted by slot";
  table_.Drop(a);
  EXPECT_EQ(table_.size(), 1u);
  table_.Drop(b);
  EXPECT_EQ(table_.size(), 0u);
}
TEST_F(ThreadsetTest, AnAccessReplacesItsOwnLabelAndRemovesWhatItKnows) {
  const Threadset* set = table_.Pair(At(1, 5), At(3, 1));
  set = table_.Advance(set, At(2, 7), kKnowsNothing);
  EXPECT_EQ(std::vector<Epoch>(set->begin(), set->end()), (std::vector<Epoch>{At(1, 5), At(2, 7), At(3, 1)}));
  set = table_.Advance(set, At(3, 9), [](Epoch epoch) { return epoch == At(1, 5); });
  EXPECT_EQ(std::vector<Epoch>(set->begin(), set->end()), (std::vector<Epoch>{At(2, 7), At(3, 9)}));
  EXPECT_EQ(table_.size(), 1u);
  EXPECT_EQ(table_.Advance(set, At(2, 8), [](Epoch) { return true; }), nullptr);
  EXPECT_EQ(table_.size(), 0u);
}
TEST_F(ThreadsetTest, TheTableGrowsAndGivesEverythingBack) {
  const Threadset* many = table_.Pair(At(0, 1), At(1, 1));
  for (uint16_t slot = 2; slot < 300; ++slot) many = table_.Advance(many, At(slot, 1), kKnowsNothing);
  EXPECT_EQ(many->count, 300u);
  std::vector<const Threadset*> sets;
  for (uint64_t time = 1; time <= 1000; ++time) sets.push_back(table_.Pair(At(0, time), At(1, time)));
  EXPECT_EQ(table_.size(), 1001u);
  EXPECT_EQ(table_.Pair(At(0, 500), At(1, 500)), sets[499]);
  table_.Drop(sets[499]);
  for (const Threadset* set : sets) table_.Drop(set);
  table_.Drop(many);
  EXPECT_EQ(table_.size(), 0u);
}

}  // namespace
}  // namespace redflag
