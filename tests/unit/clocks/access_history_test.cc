#include "clocks/access_history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "clocks/vector_clock.h"

namespace redflag {
namespace {

Epoch E(uint32_t slot, uint64_t time) { return MakeEpoch(Slot(static_cast<uint16_t>(slot)), Time{time}); }

class AccessHistoryTest : public testing::Test {
 protected:
  static HistoryEntry Entry(Epoch epoch, AccessKind kind, uint8_t bytes = 0xff) {
    return HistoryEntry{.epoch = epoch, .context = ContextId{1}, .bytes = ByteMask{bytes}, .kind = kind};
  }
  void Record(const HistoryEntry& entry) { history_.Record(arena_, clock_, entry); }
  bool IsRedundant(const HistoryEntry& entry) {
    return history_.Examine(clock_, entry) == AccessHistory<PlainMem>::Finding::kRedundant;
  }
  std::vector<Epoch> Races(const HistoryEntry& entry) {
    std::vector<Epoch> found;
    history_.ForEachRace(clock_, entry, [&](const HistoryEntry& e) { found.push_back(e.epoch); });
    std::sort(found.begin(), found.end());
    const bool races = history_.Examine(clock_, entry) == AccessHistory<PlainMem>::Finding::kRaces;
    EXPECT_EQ(races, !found.empty()) << "one look finds out whether there is a race";
    return found;
  }
  ~AccessHistoryTest() override {
    history_.Forget(arena_, kAllBytes);
    clock_.Clear();
    EXPECT_EQ(arena_.in_use(), 0u) << "a forgotten history owns nothing";
  }

  Arena<PlainMem> arena_;
  AccessHistory<PlainMem> history_;
  VectorClock<PlainMem> clock_{arena_};  // of whoever accesses next
};

TEST_F(AccessHistoryTest, AnUnknownWriteRacesWithEverything) {
  Record(Entry(E(1, 5), AccessKind::kWrite));
  for (uint8_t kind = 0; kind < 4; ++kind) EXPECT_EQ(Races(Entry(E(2, 1), AccessKind{kind})), std::vector{E(1, 5)});
}

TEST_F(AccessHistoryTest, AKnownWriteRacesWithNothing) {
  Record(Entry(E(1, 5), AccessKind::kWrite));
  clock_.Set(Slot{1}, Time{5});
  EXPECT_TRUE(Races(Entry(E(2, 1), AccessKind::kWrite)).empty());
}

TEST_F(AccessHistoryTest, NeighbouringBytesDoNotConflict) {
  Record(Entry(E(1, 5), AccessKind::kWrite, 0b0000'1111));
  EXPECT_TRUE(Races(Entry(E(2, 1), AccessKind::kWrite, 0b1111'0000)).empty());
  EXPECT_FALSE(Races(Entry(E(2, 1), AccessKind::kWrite, 0b0001'1000)).empty());
}

TEST_F(AccessHistoryTest, ReadersOnManyThreadsAreAllKept) {
  std::vector<Epoch> readers;
  for (uint32_t slot = 1; slot <= 100; ++slot) {
    readers.push_back(E(slot, 1));
    Record(Entry(readers.back(), AccessKind::kRead));
  }
  EXPECT_TRUE(history_.is_spread());
  EXPECT_EQ(Races(Entry(E(200, 1), AccessKind::kWrite)), readers);
  EXPECT_TRUE(Races(Entry(E(200, 1), AccessKind::kRead)).empty());
}

TEST_F(AccessHistoryTest, AWriteAfterAllReadersFoldsTheHistory) {
  for (uint32_t slot = 1; slot <= 20; ++slot) {
    Record(Entry(E(slot, 1), AccessKind::kRead));
    clock_.Set(Slot(static_cast<uint16_t>(slot)), Time{1});
  }
  Record(Entry(E(21, 1), AccessKind::kWrite));
  EXPECT_FALSE(history_.is_spread());
  EXPECT_EQ(Races(Entry(E(22, 1), AccessKind::kRead)), std::vector{E(21, 1)});
}

TEST_F(AccessHistoryTest, AnAtomicWriteDoesNotCoverAPlainRead) {
  Record(Entry(E(1, 1), AccessKind::kRead));
  clock_.Set(Slot{1}, Time{1});
  Record(Entry(E(2, 1), AccessKind::kAtomicWrite));
  clock_.Clear();
  EXPECT_EQ(Races(Entry(E(3, 1), AccessKind::kAtomicWrite)), std::vector{E(1, 1)});
}

TEST_F(AccessHistoryTest, APartialWriteLeavesTheOtherBytes) {
  Record(Entry(E(1, 1), AccessKind::kWrite));
  clock_.Set(Slot{1}, Time{1});
  Record(Entry(E(2, 1), AccessKind::kWrite, 0b0000'0011));
  clock_.Clear();
  EXPECT_EQ(Races(Entry(E(3, 1), AccessKind::kRead)), (std::vector{E(1, 1), E(2, 1)}));
  EXPECT_EQ(Races(Entry(E(3, 1), AccessKind::kRead, 0b0000'0001)), std::vector{E(2, 1)});
}

TEST_F(AccessHistoryTest, OnlyCoveringAccessesOfTheSameEpochMakeOneRedundant) {
  Record(Entry(E(1, 1), AccessKind::kRead, 0b0000'1111));
  EXPECT_TRUE(IsRedundant(Entry(E(1, 1), AccessKind::kRead, 0b0000'0001)));
  EXPECT_TRUE(IsRedundant(Entry(E(1, 1), AccessKind::kAtomicRead, 0b0000'0001)));
  EXPECT_FALSE(IsRedundant(Entry(E(1, 1), AccessKind::kWrite, 0b0000'0001)));
  EXPECT_FALSE(IsRedundant(Entry(E(1, 1), AccessKind::kRead, 0b0001'0000)));
  EXPECT_FALSE(IsRedundant(Entry(E(1, 2), AccessKind::kRead, 0b0000'0001)));
  EXPECT_FALSE(IsRedundant(Entry(E(2, 1), AccessKind::kRead, 0b0000'0001)));
}

TEST_F(AccessHistoryTest, SpreadHistoriesKnowRedundanceToo) {
  for (uint32_t slot = 1; slot <= 10; ++slot) Record(Entry(E(slot, 1), AccessKind::kRead));
  EXPECT_TRUE(IsRedundant(Entry(E(7, 1), AccessKind::kRead)));
  EXPECT_FALSE(IsRedundant(Entry(E(7, 2), AccessKind::kRead)));
  EXPECT_FALSE(IsRedundant(Entry(E(7, 1), AccessKind::kWrite)));
}

TEST_F(AccessHistoryTest, ForgottenBytesAreGone) {
  for (uint32_t slot = 1; slot <= 10; ++slot) Record(Entry(E(slot, 1), AccessKind::kRead));
  history_.Forget(arena_, ByteMask{0b0000'1111});
  EXPECT_TRUE(Races(Entry(E(20, 1), AccessKind::kWrite, 0b0000'1111)).empty());
  EXPECT_EQ(Races(Entry(E(20, 1), AccessKind::kWrite)).size(), 10u);
}

TEST_F(AccessHistoryTest, RereadingByManyThreadsDoesNotGrowIt) {
  for (uint64_t time = 1; time <= 3; ++time) {
    for (uint32_t slot = 1; slot <= 32; ++slot) Record(Entry(E(slot, time), AccessKind::kRead));
  }
  const size_t before = arena_.in_use();
  for (uint64_t time = 4; time <= 1000; ++time) {
    for (uint32_t slot = 1; slot <= 32; ++slot) Record(Entry(E(slot, time), AccessKind::kRead));
  }
  EXPECT_EQ(arena_.in_use(), before);
}

}  // namespace
}  // namespace redflag
