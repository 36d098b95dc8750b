#include "runtime/told_races.h"

#include <gtest/gtest.h>

#include <memory>

namespace redflag::rt {
namespace {

RaceRecord Race(uint32_t mine, uint32_t theirs, uint64_t granule = 0x1000, uint8_t bytes = 0xff) {
  RaceRecord record;
  record.granule = Addr{granule};
  record.access.context = ContextId{mine};
  record.AddEarlier(AccessRecord{.context = ContextId{theirs}, .bytes = ByteMask{bytes}});
  return record;
}

uint64_t KeyOf(const RaceRecord& race, uint32_t generation) {
  return ToldLately::KeyOf(race.access.context, race.earlier[0].context, race.earlier[0].bytes, generation);
}

TEST(ToldRacesTest, WhatWasToldIsKnownAndCounted) {
  const auto told = std::make_unique<ToldRaces>();
  uint32_t place = 0;
  EXPECT_FALSE(told->Knows(7, 8, place));
  told->Add(7, 8, 1);
  EXPECT_TRUE(told->Knows(7, 8, place));
  told->CountRepeat(place, 1);
  told->CountRepeat(place, 1);
  told->CountRepeat(place, 1000);
  EXPECT_EQ(told->repeats(), 3u);
  told->ForEachRepeated([](uint32_t sequence, uint32_t repeats) {
    EXPECT_EQ(sequence, 1u);
    EXPECT_EQ(repeats, 3u);
  });
}

TEST(ToldRacesTest, AllBeginsAnewWithAnotherGeneration) {
  const auto told = std::make_unique<ToldRaces>();
  const uint32_t first = told->generation();
  told->Add(7, 8, 1);
  told->Clear();
  uint32_t place = 0;
  EXPECT_FALSE(told->Knows(7, 8, place));
  EXPECT_NE(KeyOf(Race(1, 2), first), KeyOf(Race(1, 2), told->generation()));
}

TEST(ToldLatelyTest, KnowsWhatWasAddedInItsBlockOnly) {
  ToldLately lately;
  const uint64_t key = KeyOf(Race(1, 2), 1);
  uint32_t place = 0;
  EXPECT_FALSE(lately.Knows(key, Addr{0x1000}, place));
  lately.Add(key, 0x1000, 0x100, 5);
  EXPECT_TRUE(lately.Knows(key, Addr{0x1000}, place));
  EXPECT_EQ(place, 5u);
  EXPECT_TRUE(lately.Knows(key, Addr{0x10f8}, place));
  EXPECT_FALSE(lately.Knows(key, Addr{0x1100}, place));
  EXPECT_FALSE(lately.Knows(key, Addr{0xff8}, place));
}

// As the races of what one thread writes and another reads do, granule after granule.
TEST(ToldLatelyTest, TwoThatTakeTurnsDoNotPushEachOtherOut) {
  for (uint64_t other = 8; other < 4096; ++other) {
    ToldLately lately;
    uint32_t place = 0;
    lately.Add(7, 0x1000, 0x100, 5);
    lately.Add(other, 0x1000, 0x100, 6);
    ASSERT_TRUE(lately.Knows(7, Addr{0x1000}, place));
    EXPECT_EQ(place, 5u);
    lately.Add(7, 0x2000, 0x100, 5);  // another block
    EXPECT_FALSE(lately.Knows(7, Addr{0x1000}, place));
    ASSERT_TRUE(lately.Knows(7, Addr{0x2000}, place));
    lately.Add(other, 0x2000, 0x100, 6);
    ASSERT_TRUE(lately.Knows(7, Addr{0x2000}, place));
    ASSERT_TRUE(lately.Knows(other, Addr{0x2000}, place));
    EXPECT_EQ(place, 6u);
  }
}

TEST(ToldLatelyTest, TellsRacesApartByWhatMakesThemDifferent) {
  const uint64_t key = KeyOf(Race(1, 2), 1);
  EXPECT_EQ(KeyOf(Race(1, 2, 0x2000), 1), key);  // where it is does not matter
  EXPECT_NE(KeyOf(Race(2, 1), 1), key);
  EXPECT_NE(KeyOf(Race(1, 3), 1), key);
  EXPECT_NE(KeyOf(Race(1, 2, 0x1000, 0x0f), 1), key);  // a context may stand for several, by bytes
}

}  // namespace
}  // namespace redflag::rt
