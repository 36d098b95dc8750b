// hb called directly, without an engine: what the contract says of each call.
#include "detectors/hb.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace redflag {
namespace {

template <class Mem>
class HbWorld {
 public:
  using D = Hb<Mem>;

  typename D::Thread& Start(uint32_t tid) {
    threads_.push_back(std::make_unique<typename D::Thread>(hb, Tid{tid}));
    hb.OnStart(*threads_.back());
    return *threads_.back();
  }
  ByteMask Touch(typename D::Thread& t, AccessKind kind, uint8_t bytes = 0xff) {
    return hb.OnAccess(t, cell, Access{.granule = Addr{0x1000}, .bytes = ByteMask{bytes}, .kind = kind}, record);
  }

  D hb;
  typename D::Cell cell{};
  RaceRecord record;

 private:
  std::vector<std::unique_ptr<typename D::Thread>> threads_;
};

class HbTest : public testing::Test {
 protected:
  HbWorld<PlainMem> world_;
  Hb<PlainMem>& hb_ = world_.hb;
  Hb<PlainMem>::Thread& a_ = world_.Start(0);
  Hb<PlainMem>::Thread& b_ = world_.Start(1);
  Hb<PlainMem>::Sync sync_{hb_};
};

TEST_F(HbTest, ACommitOfAnotherEraOrdersNothing) {
  const Footprint footprint{.addr = Addr{0x2000}, .size = 4, .kind = AccessKind::kWrite};
  for (int i = 0; i < 10; ++i) hb_.OnCommitEnd(a_, &footprint, 1);
  hb_.Forget(world_.cell);
  hb_.BeginEra();
  hb_.Restart(a_);
  hb_.Restart(b_);
  hb_.OnCommitBegin(b_, &footprint, 1);
  world_.Touch(a_, AccessKind::kWrite);
  EXPECT_EQ(world_.Touch(b_, AccessKind::kRead), kAllBytes);
}

TEST_F(HbTest, TheRecordNamesBothSides) {
  a_.held.Acquire(SyncId{3}, LockMode::kExclusive);
  world_.Touch(a_, AccessKind::kWrite, 0x0f);
  EXPECT_EQ(world_.Touch(b_, AccessKind::kRead, 0x3c), ByteMask{0x0c}) << "only the bytes in common race";
  const RaceRecord& record = world_.record;
  EXPECT_EQ(record.granule, Addr{0x1000});
  EXPECT_EQ(record.access.thread, Tid{1});
  EXPECT_EQ(record.access.kind, AccessKind::kRead);
  EXPECT_EQ(record.access.bytes, ByteMask{0x3c});
  ASSERT_EQ(record.earlier_count, 1u);
  EXPECT_EQ(record.earlier[0].thread, Tid{0});
  EXPECT_EQ(record.earlier[0].bytes, ByteMask{0x0c});
  const LocksetView locks = hb_.locksets().View(record.earlier[0].locks);
  ASSERT_EQ(locks.count, 1u);
  EXPECT_EQ(LockOf(locks.first[0]), SyncId{3});
}

TEST_F(HbTest, AllConcurrentReadersAreNamed) {
  world_.Touch(a_, AccessKind::kRead);
  world_.Touch(b_, AccessKind::kRead);
  for (uint32_t tid = 2; tid < 7; ++tid) world_.Touch(world_.Start(tid), AccessKind::kRead);
  EXPECT_EQ(world_.Touch(world_.Start(7), AccessKind::kWrite), kAllBytes);
  EXPECT_EQ(world_.record.earlier_count, 7u);
}

TEST_F(HbTest, ARacyByteIsReportedOnce) {
  world_.Touch(a_, AccessKind::kWrite, 0x01);
  EXPECT_EQ(world_.Touch(b_, AccessKind::kWrite, 0x03), ByteMask{0x01});
  EXPECT_EQ(world_.Touch(a_, AccessKind::kWrite, 0x03), ByteMask{0x02}) << "the other byte has a race of its own";
  EXPECT_EQ(world_.Touch(b_, AccessKind::kWrite, 0x03), kNoBytes);
  EXPECT_EQ(b_.counts[Hb<PlainMem>::kIgnored], 1u);
}

TEST_F(HbTest, TheTagChangesExactlyAtReleases) {
  EXPECT_EQ(hb_.OnLock(a_, sync_, LockMode::kExclusive), Tag::kKept);
  EXPECT_EQ(hb_.OnUnlock(a_, sync_, LockMode::kExclusive), Tag::kChanged);
  EXPECT_EQ(hb_.OnAcquire(a_, sync_), Tag::kKept);
  EXPECT_EQ(hb_.OnReleaseStore(a_, sync_), Tag::kChanged);
  EXPECT_EQ(hb_.OnReleaseMerge(a_, sync_), Tag::kChanged);
  EXPECT_EQ(hb_.OnRelaxedLoad(a_, sync_), Tag::kKept);
  EXPECT_EQ(hb_.OnRelaxedStore(a_, sync_), Tag::kKept);
  EXPECT_EQ(hb_.OnRelaxedMerge(a_, sync_), Tag::kKept);
  EXPECT_EQ(hb_.OnAcquireFence(a_), Tag::kKept);
  EXPECT_EQ(hb_.OnReleaseFence(a_), Tag::kChanged);
}

TEST_F(HbTest, RepetitionInOneEpochIsFiltered) {
  world_.Touch(a_, AccessKind::kWrite);
  for (int i = 0; i < 5; ++i) world_.Touch(a_, AccessKind::kRead);
  EXPECT_EQ(a_.counts[Hb<PlainMem>::kSameEpoch], 5u);
  hb_.OnReleaseStore(a_, sync_);
  world_.Touch(a_, AccessKind::kRead);
  EXPECT_EQ(a_.counts[Hb<PlainMem>::kSameEpoch], 5u);
}

TEST_F(HbTest, ARevivedCellKnowsOnlyItsAllocation) {
  world_.Touch(a_, AccessKind::kWrite);
  const auto stamp = hb_.OnLifetime(b_, Addr{0x1000}, 8, AccessOrigin::kAlloc, ContextId{9});
  hb_.Revive(world_.cell, kAllBytes, stamp);
  EXPECT_EQ(world_.Touch(a_, AccessKind::kRead), kAllBytes);
  EXPECT_EQ(world_.record.earlier[0].origin, AccessOrigin::kAlloc);
  EXPECT_EQ(world_.record.earlier[0].context, ContextId{9});
  EXPECT_EQ(world_.record.earlier_count, 1u);
}

// The runtime's policy under real threads: every racing pair on one cell, both sides at the same instant.
TEST(HbConcurrentTest, SimultaneousAccessesNeverHideARace) {
  for (int round = 0; round < 300; ++round) {
    HbWorld<AtomicMem> world;
    auto& a = world.Start(0);
    auto& b = world.Start(1);
    std::atomic<int> ready{0};
    ByteMask found[2] = {};
    const auto body = [&](Hb<AtomicMem>::Thread& t, ByteMask& result) {
      RaceRecord record;
      ready.fetch_add(1);
      while (ready.load() != 2) std::this_thread::yield();
      result = world.hb.OnAccess(
          t, world.cell, Access{.granule = Addr{0x1000}, .bytes = kAllBytes, .kind = AccessKind::kWrite}, record);
    };
    std::thread ta([&] { body(a, found[0]); });
    std::thread tb([&] { body(b, found[1]); });
    ta.join();
    tb.join();
    ASSERT_EQ(Any(found[0]) + Any(found[1]), 1) << "exactly the second of the two completes the race";
  }
}

}  // namespace
}  // namespace redflag
