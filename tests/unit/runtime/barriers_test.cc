#include "runtime/barriers.h"

#include <gtest/gtest.h>

namespace redflag::rt {
namespace {

class BarriersTest : public testing::Test {
 protected:
  static constexpr uint64_t kBarrier = 0x1000;

  BarriersTest() {
    detector.OnStart(a);
    detector.OnFork(a, b);
    detector.OnFork(a, c);
  }

  Barriers::Phase* Arrive(Detector::Thread& t, uint32_t parties = 2) {
    return barriers.Arrive(detector, arena, kBarrier, parties,
                           [&](Barriers::Phase& phase) { detector.OnReleaseMerge(t, phase.sync); });
  }
  void Leave(Detector::Thread& t, Barriers::Phase* phase) {
    barriers.Leave(detector, arena, phase, [&](Barriers::Phase& left) { detector.OnAcquire(t, left.sync); });
  }

  Arena<AtomicMem> arena;
  Detector detector;
  Detector::Thread a{detector, Tid{0}};
  Detector::Thread b{detector, Tid{1}};
  Detector::Thread c{detector, Tid{2}};
  Barriers barriers;
};

TEST_F(BarriersTest, WhoLeavesKnowsWhoArrived) {
  const Epoch before = a.clock.epoch();
  auto* const phase_of_a = Arrive(a);
  auto* const phase_of_b = Arrive(b);
  EXPECT_EQ(phase_of_a, phase_of_b);
  EXPECT_FALSE(b.clock.Knows(before));
  Leave(b, phase_of_b);
  EXPECT_TRUE(b.clock.Knows(before));
  EXPECT_FALSE(b.clock.Knows(a.clock.epoch()));
  Leave(a, phase_of_a);
}

TEST_F(BarriersTest, AThreadThatIsSlowToLeaveLeavesItsOwnPhaseThoughTheBarrierIsGone) {
  const Epoch before = a.clock.epoch();
  auto* const phase_of_a = Arrive(a);
  auto* const phase_of_b = Arrive(b);
  Leave(a, phase_of_a);
  barriers.Forget(arena, kBarrier);
  const Epoch later = a.clock.epoch();
  auto* const another = Arrive(a);  // a new barrier in the same place
  EXPECT_NE(another, phase_of_b);
  Leave(b, phase_of_b);
  EXPECT_TRUE(b.clock.Knows(before));
  EXPECT_FALSE(b.clock.Knows(later));
}

TEST_F(BarriersTest, PhasesAreGivenBack) {
  Leave(a, Arrive(a, 1));
  const size_t in_use = arena.in_use();
  for (int i = 0; i < 100; ++i) Leave(a, Arrive(a, 1));
  EXPECT_EQ(arena.in_use(), in_use);
  Arrive(a);  // and never left: the barrier is destroyed under its waiters' feet
  barriers.Forget(arena, kBarrier);
  Leave(c, Arrive(c, 1));
}

}  // namespace
}  // namespace redflag::rt
