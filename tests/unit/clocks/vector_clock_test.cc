#include "clocks/vector_clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace redflag {
namespace {

Slot S(uint32_t slot) { return Slot(static_cast<uint16_t>(slot)); }

TEST(VectorClockTest, AFreshClockKnowsNothing) {
  Arena<PlainMem> arena;
  VectorClock<PlainMem> clock(arena);
  EXPECT_EQ(clock.Get(S(0)), kNever);
  EXPECT_EQ(clock.Get(S(9999)), kNever);
  EXPECT_TRUE(clock.Knows(kNoEpoch));
  EXPECT_FALSE(clock.Knows(MakeEpoch(S(3), Time{1})));
}

TEST(VectorClockTest, AssignedClocksDoNotFollowLaterChanges) {
  Arena<PlainMem> arena;
  VectorClock<PlainMem> a(arena);
  VectorClock<PlainMem> b(arena);
  a.Set(S(1), Time{5});
  b.Assign(a);
  a.Set(S(1), Time{6});
  EXPECT_EQ(b.Get(S(1)), Time{5});
  b.Set(S(2), Time{9});
  EXPECT_EQ(a.Get(S(2)), kNever);
}

TEST(VectorClockTest, AssignForgetsWhatTheSourceDoesNotKnow) {
  Arena<PlainMem> arena;
  VectorClock<PlainMem> a(arena);
  VectorClock<PlainMem> b(arena);
  b.Set(S(100), Time{7});
  a.Set(S(1), Time{5});
  b.Assign(a);
  EXPECT_EQ(b.Get(S(100)), kNever);
}

TEST(VectorClockTest, SharingTakesNoMemoryUntilSomebodyWrites) {
  Arena<PlainMem> arena;
  VectorClock<PlainMem> a(arena);
  for (uint32_t i = 0; i < 32; ++i) a.Set(S(i), Time{i + 1});
  const size_t before = arena.in_use();
  VectorClock<PlainMem> b(arena);
  b.Assign(a);
  EXPECT_EQ(arena.in_use(), before);
  b.Set(S(0), Time{50});
  EXPECT_GT(arena.in_use(), before);
}

// Hundreds of threads that learn of each other through one lock, each of which has a clock of its own at first.
TEST(VectorClockTest, ClocksOfManyThreadsComeToShareWhatTheyLearn) {
  constexpr uint32_t kThreads = 512;
  Arena<PlainMem> arena;
  VectorClock<PlainMem> lock(arena);
  std::vector<std::unique_ptr<VectorClock<PlainMem>>> clocks;
  for (uint32_t i = 0; i < kThreads; ++i) {
    clocks.push_back(std::make_unique<VectorClock<PlainMem>>(arena));
    for (uint32_t k = 0; k < kThreads; ++k) clocks[i]->Set(S(k), Time{1});
  }
  const size_t apart = arena.in_use();
  for (uint32_t round = 0; round < 2; ++round) {
    for (uint32_t i = 0; i < kThreads; ++i) {
      clocks[i]->Join(lock);
      clocks[i]->Set(S(i), Time{round + 2});
      lock.Assign(*clocks[i]);
    }
  }
  EXPECT_LT(arena.in_use(), apart / 2);
  for (uint32_t k = 0; k < kThreads; ++k) {
    ASSERT_EQ(clocks[kThreads - 1]->Get(S(k)), Time{3});
    ASSERT_EQ(clocks[0]->Get(S(k)), k == 0 ? Time{3} : Time{2}) << "what came later was not told to it";
  }
}

TEST(VectorClockTest, TenThousandThreadsFit) {
  Arena<PlainMem> arena;
  {
    VectorClock<PlainMem> clock(arena);
    for (uint32_t i = 0; i < 10'000; ++i) clock.Set(S(i), Time{i + 1});
    for (uint32_t i = 0; i < 10'000; ++i) ASSERT_EQ(clock.Get(S(i)), Time{i + 1});
    EXPECT_LT(arena.in_use(), size_t{400'000});
  }
  EXPECT_EQ(arena.in_use(), 0u);
}

TEST(VectorClockTest, AClockThatKnowsOneHighSlotIsSmall) {
  Arena<PlainMem> arena;
  VectorClock<PlainMem> clock(arena);
  clock.Set(S(9'999), Time{1});
  EXPECT_LT(arena.in_use(), size_t{10'000}) << "absent chunks cost a null pointer each";
}

// Any sequence of operations on a set of clocks, against maps.
TEST(VectorClockTest, BehavesLikeMapsUnderRandomUse) {
  constexpr int kClocks = 6;
  Arena<PlainMem> arena;
  {
    std::vector<std::unique_ptr<VectorClock<PlainMem>>> clocks;
    std::vector<std::map<uint32_t, uint64_t>> models(kClocks);
    for (int i = 0; i < kClocks; ++i) clocks.push_back(std::make_unique<VectorClock<PlainMem>>(arena));
    std::mt19937 random(11);
    for (int step = 0; step < 50'000; ++step) {
      const auto i = random() % kClocks;
      const auto j = random() % kClocks;
      const uint32_t slot = random() % 4 == 0 ? random() % 200 : random() % 8;
      switch (random() % 8) {
        case 0:
          clocks[i]->Assign(*clocks[j]);
          models[i] = models[j];
          break;
        case 1:
          clocks[i]->Join(*clocks[j]);
          for (const auto& [s, time] : std::map(models[j])) models[i][s] = std::max(models[i][s], time);
          break;
        case 2:
          if (random() % 10 == 0) {
            clocks[i]->Clear();
            models[i].clear();
          }
          break;
        default: {
          const uint64_t time = models[i][slot] + 1 + random() % 3;
          clocks[i]->Set(S(slot), Time{time});
          models[i][slot] = time;
        }
      }
      for (uint32_t s = 0; s < 8; ++s) {
        const auto found = models[i].find(s);
        ASSERT_EQ(clocks[i]->Get(S(s)), Time{found == models[i].end() ? 0 : found->second});
      }
      if (step % 1000 == 0) {
        std::map<uint32_t, uint64_t> seen;
        clocks[i]->ForEach([&](Slot s, Time time) { seen[Raw(s)] = Raw(time); });
        std::erase_if(models[i], [](const auto& entry) { return entry.second == 0; });
        ASSERT_EQ(seen, models[i]);
      }
    }
  }
  EXPECT_EQ(arena.in_use(), 0u) << "every chunk went back";
}

}  // namespace
}  // namespace redflag
