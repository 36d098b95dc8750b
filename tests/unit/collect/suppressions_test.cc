#include "collect/suppressions.h"

#include <gtest/gtest.h>

namespace redflag {
namespace {

RaceReport Race() {
  RaceReport report;
  report.variable = "cache";
  report.access.stack = {
      {.function = "lib::Put(int) const", .file = "/src/lib/put.cc", .line = 3, .module = "/lib/x.so"},
      {.function = "main", .file = "/src/main.cc", .line = 9, .module = "/bin/y"}};
  report.earlier.resize(1);
  report.earlier[0].stack = {{.function = "lib::Get()", .file = "/src/lib/get.cc", .line = 4}};
  return report;
}

bool Suppressed(const std::string& text) {
  Suppressions suppressions;
  EXPECT_TRUE(suppressions.Add(text).empty()) << text;
  return suppressions.Match(Race());
}

TEST(SuppressionsTest, AFunctionAFileAModuleOrAVariableOfEitherSideMatches) {
  EXPECT_TRUE(Suppressed("race:lib::Put"));
  EXPECT_TRUE(Suppressed("race:lib/get.cc"));
  EXPECT_TRUE(Suppressed("race:/lib/x.so"));
  EXPECT_TRUE(Suppressed("race:cache"));
  EXPECT_TRUE(Suppressed("# known\n\n  race:nothing\nrace: main\r\n"));
  EXPECT_FALSE(Suppressed("race:Fetch"));
  EXPECT_FALSE(Suppressed(""));
}

TEST(SuppressionsTest, TopIsTheInnermostFrame) {
  EXPECT_TRUE(Suppressed("race_top:lib::Get"));
  EXPECT_FALSE(Suppressed("race_top:main"));
  EXPECT_FALSE(Suppressed("race_top:cache"));
}

TEST(SuppressionsTest, OtherTypesHaveNoEffectAndNonsenseIsComplainedOf) {
  EXPECT_FALSE(Suppressed("deadlock:main\nmutex:main\nthread:main\nsignal:main\ncalled_from_lib:x.so"));
  Suppressions suppressions;
  EXPECT_EQ(suppressions.Add("raze:main\nmain\nrace:\n").size(), 3u);
  EXPECT_FALSE(suppressions.Match(Race()));
}

TEST(SuppressionsTest, APatternTiedToTheEndIgnoresParameters) {
  EXPECT_TRUE(Suppressed("race:^lib::Put$"));
  EXPECT_TRUE(Suppressed("race:::Get$"));
  EXPECT_FALSE(Suppressed("race:^Put$"));
}

TEST(SuppressionsTest, PatternsAreFoundAnywhereUnlessTheyAreTied) {
  EXPECT_TRUE(MatchesPattern("bc", "abcd"));
  EXPECT_TRUE(MatchesPattern("a*d", "abcd"));
  EXPECT_TRUE(MatchesPattern("*", ""));
  EXPECT_TRUE(MatchesPattern("^ab", "abcd"));
  EXPECT_FALSE(MatchesPattern("^bc", "abcd"));
  EXPECT_TRUE(MatchesPattern("cd$", "cdcd"));
  EXPECT_FALSE(MatchesPattern("bc$", "abcd"));
  EXPECT_TRUE(MatchesPattern("^a*d$", "abcd"));
  EXPECT_TRUE(MatchesPattern("^a*", "abcd"));
  EXPECT_TRUE(MatchesPattern("a*$", "abcd"));
  EXPECT_TRUE(MatchesPattern("^abcd$", "abcd"));
  EXPECT_FALSE(MatchesPattern("^abc$", "abcd"));
  EXPECT_FALSE(MatchesPattern("^bcd$", "abcd"));
  EXPECT_TRUE(MatchesPattern("a*b*c", "a1b2c3"));
  EXPECT_FALSE(MatchesPattern("c*b*a", "a1b2c3"));
  EXPECT_FALSE(MatchesPattern("b$c", "abc"));
}

}  // namespace
}  // namespace redflag
