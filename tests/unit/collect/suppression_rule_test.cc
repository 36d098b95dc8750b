#include "collect/suppression_rule.h"

#include <gtest/gtest.h>

namespace redflag {
namespace {

SuppressionRule Rule(std::string_view line) {
  auto parsed = ParseSuppression(line);
  auto* rule = std::get_if<SuppressionRule>(&parsed);
  EXPECT_NE(rule, nullptr) << line;
  return rule == nullptr ? SuppressionRule{} : *rule;
}

TEST(SuppressionRuleTest, DatesAreReal) {
  EXPECT_EQ(FormatDate(*ParseDate("2028-02-29")), "2028-02-29");
  for (const char* text :
       {"", "2027-02-29", "2027-13-01", "2027-1-01", "27-01-01", "2027/01/01", "2027-01-0x", "2027-01-011"}) {
    EXPECT_FALSE(ParseDate(text)) << text;
  }
  EXPECT_TRUE(Today() > *ParseDate("2020-01-01"));
}

TEST(SuppressionRuleTest, APatternMayEndWithADate) {
  const SuppressionRule rule = Rule("race: f \t until=2027-01-31");
  EXPECT_EQ(rule.patterns, std::vector<std::string>{"f"});
  EXPECT_EQ(FormatDate(*rule.until), "2027-01-31");
  EXPECT_EQ(Rule("race:until=2027-01-31").patterns.front(), "until=2027-01-31")
      << "no date: there is nothing before it";
  EXPECT_FALSE(Rule("race:f").until);
}

TEST(SuppressionRuleTest, FramesAreSplitAtArrowsBetweenSpaces) {
  EXPECT_EQ(Rule("race:f <- g<-h <- ... <- main").patterns, (std::vector<std::string>{"f", "g<-h", "...", "main"}));
  EXPECT_EQ(Rule("function:f <- g").patterns.size(), 1u) << "only race and race_top have frames";
  for (const char* line : {"race:f <-", "race:<- f", "race_top:f <- <- g"}) {
    EXPECT_TRUE(std::holds_alternative<std::string>(ParseSuppression(line))) << line;
  }
}

TEST(SuppressionRuleTest, TypesOfOtherReportsAreKnown) {
  EXPECT_TRUE(std::holds_alternative<SuppressionRule>(ParseSuppression("deadlock:f")));
  EXPECT_TRUE(std::holds_alternative<std::string>(ParseSuppression("deadlock:")));
  EXPECT_TRUE(std::holds_alternative<std::string>(ParseSuppression("leak:f")));
}

}  // namespace
}  // namespace redflag
