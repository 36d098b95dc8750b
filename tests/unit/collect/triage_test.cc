#include "collect/triage.h"

#include <gtest/gtest.h>

namespace redflag {
namespace {

using Rank = Judgement::Rank;

// A race in code that belongs to no file: places are addresses.
RaceMessage Race(uint64_t place, uint64_t caller, uint64_t sequence = 0) {
  RaceMessage race;
  race.sequence = sequence;
  race.address = 0x1000;
  race.bytes = 4;
  race.accesses.resize(2);
  for (RawAccess& access : race.accesses) {
    access.address = race.address;
    access.size = 4;
    access.kind = AccessKind::kWrite;
    access.stack.frames = {place, caller};
  }
  return race;
}

class TriageTest : public testing::Test {
 protected:
  ReportBuilder builder{"hb"};
  Triage triage{builder};
};

TEST_F(TriageTest, OfRacesThatAreOneTheFirstIsAReport) {
  EXPECT_TRUE(triage.Take(Race(1, 2, 7)));
  EXPECT_FALSE(triage.Take(Race(1, 2, 8), 3));
  EXPECT_FALSE(triage.Take(Race(1, 3, 9))) << "another way to the same place";
  EXPECT_TRUE(triage.Take(Race(4, 2, 10)));
  triage.Repeat(9, 10);
  triage.Repeat(99, 10);
  ASSERT_EQ(triage.groups().size(), 2u);
  EXPECT_EQ(triage.groups()[0].repeated, 14u);
  EXPECT_EQ(triage.repeated(), 14u);
  EXPECT_EQ(triage.RepeatedByFingerprint().size(), 1u);
}

TEST_F(TriageTest, UnwantedRacesAreCountedApart) {
  RaceMessage race = Race(1, 2);
  const std::string fingerprint = builder.Build(race).fingerprint;
  EXPECT_TRUE(
      triage.OnSuppressions({.is_file = false, .wants_usage = true, .text = "fingerprint:" + fingerprint}).empty());
  EXPECT_FALSE(triage.Take(race, 5));
  EXPECT_FALSE(triage.Take(race));
  EXPECT_EQ(triage.suppressed(), 6u);
  EXPECT_EQ(triage.repeated(), 0u);
  EXPECT_TRUE(triage.groups().empty());
  EXPECT_TRUE(triage.wants_usage());
  EXPECT_EQ(DescribeUsage(triage.suppressions()),
            std::vector<std::string>{"1 race matched by fingerprint:" + fingerprint});
  EXPECT_EQ(TsanUsage(triage.suppressions(), 7),
            "ThreadSanitizer: Matched 1 suppressions (pid=7):\n1 fingerprint:" + fingerprint + "\n");
}

TEST(DescribeGroupsTest, TheHighestRankComesFirst) {
  const std::vector<Triage::Group> groups = {
      {.fingerprint = "", .target = "hits", .pattern = "statistics counter", .rank = Rank::kLow, .repeated = 2},
      {.fingerprint = "", .target = "x", .pattern = "", .rank = Rank::kHigh},
      {.fingerprint = "", .target = "y", .pattern = "lost update", .rank = Rank::kHigh}};
  EXPECT_EQ(DescribeGroups(groups, 9), (std::vector<std::string>{"#2   high   x", "#3   high   y: lost update",
                                                                 "#1   low    hits: statistics counter, 3 times"}));
  EXPECT_EQ(DescribeGroups(groups, 1), (std::vector<std::string>{"#2   high   x", "and 2 more"}));
}

}  // namespace
}  // namespace redflag
