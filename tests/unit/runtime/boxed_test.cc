#include "runtime/boxed.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "detectors/goldilocks.h"
#include "detectors/lockset.h"
#include "detectors/racetrack.h"

namespace redflag::rt {
namespace {

template <class D>
class World {
 public:
  using Detector = Boxed<D>;

  World() {
    detector.FindObjectsBy([](uint64_t addr, uint64_t& begin, uint64_t& bytes) {
      if (addr < kBlock || addr >= kBlock + kBlockBytes) return false;
      begin = kBlock;
      bytes = kBlockBytes;
      return true;
    });
    detector.OnStart(main);
    detector.OnFork(main, a);
    detector.OnFork(main, b);
  }
  ~World() {
    for (uint64_t i = 0; i < kCells; ++i) detector.Forget(cells[i], kAllBytes);
  }

  typename Detector::Cell& CellAt(uint64_t addr) { return cells[(addr - kFirst) / kGranule]; }
  ByteMask Access(typename Detector::Thread& t, uint64_t addr, AccessKind kind, ContextId context = ContextId{1}) {
    return detector.OnAccess(
        t, CellAt(addr), redflag::Access{.granule = Addr{addr}, .bytes = kAllBytes, .kind = kind, .context = context},
        record);
  }
  ByteMask Write(typename Detector::Thread& t, uint64_t addr) { return Access(t, addr, AccessKind::kWrite); }
  void Allocate(typename Detector::Thread& t, uint64_t addr, uint64_t bytes) {
    Life<D> life(detector, t, addr, bytes, AccessOrigin::kAlloc, ContextId{9});
    for (uint64_t at = addr; at < addr + bytes; at += kGranule) life.Begin(CellAt(at), at, kAllBytes, false);
  }

  static constexpr uint64_t kFirst = 0x1000, kBlock = 0x1040, kBlockBytes = 64, kCells = 64;
  Detector detector;
  typename Detector::Thread main{detector, Tid{0}};
  typename Detector::Thread a{detector, Tid{1}};
  typename Detector::Thread b{detector, Tid{2}};
  RaceRecord record;
  alignas(16) typename Detector::Cell cells[kCells] = {};
};

TEST(BoxedTest, ARaceIsFoundAndTheFilterKnowsWhoWasLast) {
  World<Goldilocks<AtomicMem>> w;
  EXPECT_EQ(w.Write(w.a, 0x1000), kNoBytes);
  const PackedAccess mine(w.a.label, AccessKind::kRead, kAllBytes, kNoContext);
  EXPECT_TRUE(w.CellAt(0x1000).Covers(mine));
  EXPECT_EQ(w.Write(w.b, 0x1000), kAllBytes);
  EXPECT_EQ(w.record.earlier[0].thread, Tid{1});
  EXPECT_FALSE(w.CellAt(0x1000).Covers(mine)) << "somebody else has been there";
}

TEST(BoxedTest, ALabelIsOfOneSegment) {
  World<Goldilocks<AtomicMem>> w;
  w.Write(w.a, 0x1000);
  const Epoch before = w.a.label;
  typename Boxed<Goldilocks<AtomicMem>>::Sync sync(w.detector);
  w.detector.OnReleaseStore(w.a, sync);
  EXPECT_NE(w.a.label, before);
}

TEST(BoxedTest, MemoryThatNobodyTouchedBeginsWithItsAllocation) {
  World<Goldilocks<AtomicMem>> w;
  w.Allocate(w.a, 0x1080, 64);
  EXPECT_EQ(w.Write(w.a, 0x1080), kNoBytes);
  EXPECT_EQ(w.Write(w.b, 0x1088), kAllBytes) << "not ordered after the allocation";
  EXPECT_EQ(w.record.earlier[0].context, ContextId{9});
  EXPECT_EQ(w.record.earlier[0].origin, AccessOrigin::kAlloc);
}

TEST(BoxedTest, ANewLifeEndsWhatWasBefore) {
  World<Goldilocks<AtomicMem>> w;
  w.Write(w.a, 0x1080);
  w.Allocate(w.b, 0x1080, 64);
  EXPECT_EQ(w.Write(w.b, 0x1080), kNoBytes);
  EXPECT_EQ(w.Write(w.b, 0x1088), kNoBytes);
}

TEST(BoxedTest, ForgottenCellsHaveNoPast) {
  World<Goldilocks<AtomicMem>> w;
  w.Write(w.a, 0x1000);
  w.Allocate(w.a, 0x1080, 64);
  w.detector.Forget(w.CellAt(0x1000), kAllBytes);
  w.detector.Forget(w.CellAt(0x1080), kAllBytes);
  EXPECT_EQ(w.Write(w.b, 0x1000), kNoBytes);
  EXPECT_EQ(w.Write(w.b, 0x1080), kNoBytes);
}

TEST(BoxedTest, AnEraForgetsEverythingAtOnce) {
  World<Goldilocks<AtomicMem>> w;
  for (uint64_t at = 0x1000; at < 0x1100; at += kGranule) w.Write(w.a, at);
  for (auto& cell : w.cells) cell = {};
  w.detector.BeginEra();
  w.detector.Restart(w.a);
  w.detector.Restart(w.b);
  for (uint64_t at = 0x1000; at < 0x1100; at += kGranule) EXPECT_EQ(w.Write(w.b, at), kNoBytes);
}

TEST(BoxedTest, AnObjectHasOneBox) {
  using D = RaceTrack<AtomicMem>;
  World<D> w;
  constexpr uint64_t kBlock = World<D>::kBlock;
  w.Write(w.a, kBlock + 8);
  w.Write(w.a, kBlock + 24);
  EXPECT_EQ(w.CellAt(kBlock + 8).link, w.CellAt(kBlock + 24).link);
  EXPECT_EQ(w.CellAt(kBlock + 8).link, w.CellAt(kBlock).link) << "it is found by its first granule";
  w.Write(w.a, 0x1000);
  w.Write(w.a, 0x1008);
  EXPECT_NE(w.CellAt(0x1000).link, w.CellAt(0x1008).link) << "nobody's memory";
  w.Allocate(w.a, kBlock, World<D>::kBlockBytes);
  EXPECT_EQ(w.CellAt(kBlock).link, 0u);
  EXPECT_EQ(w.CellAt(kBlock + 8).link, 0u);
}

// Threads touch, allocate and forget the same granules, each in a world of its own locks: nothing is lost or used twice.
template <class D>
void Hammer() {
  World<D> w;
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 4; ++i) {
    threads.emplace_back([&w, i] {
      typename Boxed<D>::Thread t(w.detector, Tid{10 + i});
      w.detector.OnStart(t);
      RaceRecord record;
      for (uint64_t step = 0; step < 20'000; ++step) {
        const uint64_t addr = 0x1000 + (step * (2 * i + 1) + i) % World<D>::kCells * kGranule;
        auto& cell = w.CellAt(addr);
        if (step % 17 == 16) {
          w.detector.Forget(cell, kAllBytes);
        } else if (step % 13 == 12) {
          Life<D> life(w.detector, t, addr, kGranule, AccessOrigin::kAlloc, ContextId{9});
          life.Begin(cell, addr, kAllBytes, false);
        } else {
          w.detector.OnAccess(t, cell,
                              Access{.granule = Addr{addr},
                                     .bytes = kAllBytes,
                                     .kind = step % 3 == 0 ? AccessKind::kWrite : AccessKind::kRead,
                                     .context = ContextId{1}},
                              record);
        }
      }
      w.detector.OnEnd(t);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (auto& cell : w.cells) w.detector.Forget(cell, kAllBytes);
  for (const auto& cell : w.cells) EXPECT_EQ(cell.link, 0u);
}

TEST(BoxedTest, ThreadsMayDoAnythingAtOnce) {
  Hammer<Goldilocks<AtomicMem>>();
  Hammer<Lockset<AtomicMem>>();
  Hammer<RaceTrack<AtomicMem>>();
}

}  // namespace
}  // namespace redflag::rt
