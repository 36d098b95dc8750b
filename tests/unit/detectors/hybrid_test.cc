// hybrid and fast called directly, without an engine.
#include "detectors/hybrid.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "detectors/fast.h"

namespace redflag {
namespace {

template <class D>
class World {
 public:
  using Thread = typename D::Thread;

  explicit World(const HybridOptions& options = {}) : d(options) {}

  Thread& Start() {
    threads_.push_back(std::make_unique<Thread>(d, Tid{static_cast<uint32_t>(threads_.size())}));
    d.OnStart(*threads_.back());
    return *threads_.back();
  }
  ByteMask Touch(Thread& t, AccessKind kind, uint8_t bytes = 0xff) { return TouchAt(t, 0x1000, kind, bytes); }
  ByteMask TouchAt(Thread& t, uint64_t granule, AccessKind kind, uint8_t bytes = 0xff) {
    return d.OnAccess(t, cell, Access{.granule = Addr{granule}, .bytes = ByteMask{bytes}, .kind = kind}, record);
  }

  D d;
  typename D::Cell cell{};
  RaceRecord record;

 private:
  std::vector<std::unique_ptr<Thread>> threads_;
};

using HybridWorld = World<Hybrid<PlainMem>>;
constexpr LockMode kExclusive = LockMode::kExclusive;
constexpr LockMode kShared = LockMode::kShared;

TEST(HybridTest, LocksDoNotOrder) {
  HybridWorld w;
  auto& a = w.Start();
  auto& b = w.Start();
  Hybrid<PlainMem>::Sync lock(w.d);
  w.Touch(a, AccessKind::kWrite);
  w.d.OnLock(a, lock, kExclusive);
  w.d.OnUnlock(a, lock, kExclusive);
  w.d.OnLock(b, lock, kExclusive);
  EXPECT_EQ(w.Touch(b, AccessKind::kWrite), kAllBytes);
}

TEST(HybridTest, AnAnnotatedLockOrders) {
  HybridWorld w;
  auto& a = w.Start();
  auto& b = w.Start();
  Hybrid<PlainMem>::Sync lock(w.d);
  w.d.OnPureHbLock(a, lock);
  w.Touch(a, AccessKind::kWrite);
  w.d.OnLock(a, lock, kExclusive);
  w.d.OnUnlock(a, lock, kExclusive);
  w.d.OnLock(b, lock, kExclusive);
  EXPECT_EQ(w.Touch(b, AccessKind::kWrite), kNoBytes);
}

TEST(HybridTest, ACommonLockSaves) {
  HybridWorld w;
  auto& a = w.Start();
  auto& b = w.Start();
  a.held.Acquire(SyncId{1}, kExclusive);
  b.held.Acquire(SyncId{1}, kExclusive);
  b.held.Acquire(SyncId{2}, kExclusive);
  w.Touch(a, AccessKind::kWrite);
  EXPECT_EQ(w.Touch(b, AccessKind::kWrite), kNoBytes);
  EXPECT_EQ(b.counts[Hybrid<PlainMem>::kLocked], 1u);
}

TEST(HybridTest, AWriteNeedsTheLockForWriting) {
  HybridWorld w;
  auto& a = w.Start();
  auto& b = w.Start();
  a.held.Acquire(SyncId{1}, kShared);
  b.held.Acquire(SyncId{1}, kShared);
  w.Touch(a, AccessKind::kRead);
  EXPECT_EQ(w.Touch(b, AccessKind::kWrite), kAllBytes);
}

TEST(HybridTest, AReaderIsSavedFromAWriterByOneLockInTwoModes) {
  HybridWorld w;
  auto& a = w.Start();
  auto& b = w.Start();
  a.held.Acquire(SyncId{1}, kExclusive);
  b.held.Acquire(SyncId{1}, kShared);
  w.Touch(a, AccessKind::kWrite);
  EXPECT_EQ(w.Touch(b, AccessKind::kRead), kNoBytes);
}

TEST(HybridTest, AllConcurrentAccessesAreNamedAlsoThoseThatShareALock) {
  HybridWorld w;
  auto& a = w.Start();
  auto& b = w.Start();
  auto& c = w.Start();
  a.held.Acquire(SyncId{1}, kExclusive);
  b.held.Acquire(SyncId{1}, kExclusive);
  b.held.Acquire(SyncId{2}, kExclusive);
  c.held.Acquire(SyncId{2}, kExclusive);
  w.Touch(a, AccessKind::kWrite);
  w.Touch(b, AccessKind::kWrite);
  EXPECT_EQ(w.Touch(c, AccessKind::kWrite), kAllBytes);
  EXPECT_EQ(w.record.earlier_count, 2u);
}

TEST(HybridTest, TheLimitPushesOutTheFirstAndCountsIt) {
  HybridWorld w;
  std::vector<Hybrid<PlainMem>::Thread*> readers;
  for (int i = 0; i < 5; ++i) readers.push_back(&w.Start());
  for (auto* reader : readers) w.Touch(*reader, AccessKind::kRead);
  EXPECT_EQ(readers[4]->counts[Hybrid<PlainMem>::kEvicted], 8u) << "one for each byte";
  EXPECT_EQ(w.Touch(w.Start(), AccessKind::kWrite), kAllBytes);
  EXPECT_EQ(w.record.earlier_count, 4u);
}

TEST(HybridTest, WithoutALimitEverybodyIsRemembered) {
  HybridWorld w(HybridOptions{.segment_set_limit = 0});
  for (int i = 0; i < 12; ++i) w.Touch(w.Start(), AccessKind::kRead);
  w.Touch(w.Start(), AccessKind::kWrite);
  EXPECT_EQ(w.record.earlier_count, 12u);
}

TEST(HybridTest, EveryChangeOfTheSegmentChangesTheTag) {
  HybridWorld w;
  auto& a = w.Start();
  Hybrid<PlainMem>::Sync sync(w.d);
  EXPECT_EQ(w.d.OnLock(a, sync, kExclusive), Tag::kChanged);
  EXPECT_EQ(w.d.OnUnlock(a, sync, kExclusive), Tag::kChanged);
  EXPECT_EQ(w.d.OnAcquire(a, sync), Tag::kChanged);
  EXPECT_EQ(w.d.OnReleaseMerge(a, sync), Tag::kChanged);
  EXPECT_EQ(w.d.OnRelaxedLoad(a, sync), Tag::kKept);
}

using FastWorld = World<Fast<PlainMem>>;

TEST(FastTest, TheFirstThreadIsNotSeen) {
  FastWorld w;
  auto& a = w.Start();
  auto& b = w.Start();
  w.Touch(a, AccessKind::kWrite);
  EXPECT_EQ(w.Touch(b, AccessKind::kWrite), kNoBytes);
  EXPECT_EQ(w.Touch(a, AccessKind::kWrite), kAllBytes) << "the line is shared now";
  EXPECT_EQ(a.counts[Fast<PlainMem>::kUnshared], 1u);
}

TEST(FastTest, NeighboursOnOneLineAreSharedTogether) {
  FastWorld w;
  auto& a = w.Start();
  auto& b = w.Start();
  w.TouchAt(a, 0x1038, AccessKind::kWrite);  // the last granule of the line
  w.Touch(b, AccessKind::kWrite);            // the first: another cell in reality, the same history here
  EXPECT_EQ(w.Touch(a, AccessKind::kRead), kAllBytes);
}

TEST(FastTest, AFreshLineIsUntouchedAgain) {
  FastWorld w;
  auto& a = w.Start();
  auto& b = w.Start();
  w.Touch(a, AccessKind::kWrite);
  w.Touch(b, AccessKind::kRead);
  w.d.Revive(w.cell, kAllBytes, w.d.OnLifetime(b, Addr{0x1000}, 64, AccessOrigin::kAlloc, kNoContext));
  EXPECT_EQ(w.Touch(a, AccessKind::kWrite), kNoBytes);
  EXPECT_EQ(a.counts[Fast<PlainMem>::kUnshared], 2u);
}

}  // namespace
}  // namespace redflag
