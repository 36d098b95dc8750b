#include "offline/comparison.h"

#include <gtest/gtest.h>

#include <vector>

namespace redflag {
namespace {

RaceReport On(const char* variable, uint32_t line) {
  RaceReport report;
  report.variable = variable;
  report.addr = Addr{0x1000};
  report.trace_line = line;
  return report;
}

class ComparisonTest : public testing::Test {
 protected:
  static constexpr DetectorInfo kPrecise{"precise", "", "", "", true, Claim::kUnordered, false, nullptr};
  static constexpr DetectorInfo kOther{"other", "", "guesses", "sleeps", true, Claim::kUnordered, false, nullptr};
};

TEST_F(ComparisonTest, AgreementNeedsNoNote) {
  const std::vector<RaceReport> a = {On("x", 3)};
  const std::vector<RaceReport> b = {On("x", 5), On("x", 5), On("x", 7)};
  const auto variables = CompareOpinions({{&kPrecise, &a}, {&kOther, &b}});
  ASSERT_EQ(variables.size(), 1u);
  EXPECT_EQ(variables[0].name, "x");
  EXPECT_EQ(variables[0].lines[0], std::vector<uint32_t>{3});
  EXPECT_EQ(variables[0].lines[1], (std::vector<uint32_t>{5, 7}));
  EXPECT_TRUE(variables[0].notes.empty());
}

TEST_F(ComparisonTest, ADetectorThatSaysMoreOrLessSaysWhy) {
  const std::vector<RaceReport> a = {On("x", 3)};
  const std::vector<RaceReport> b = {On("y", 4)};
  const auto variables = CompareOpinions({{&kPrecise, &a}, {&kOther, &b}});
  ASSERT_EQ(variables.size(), 2u);
  EXPECT_EQ(variables[0].notes, std::vector<std::string>{"other is silent about a race: it sleeps"});
  EXPECT_EQ(variables[1].notes, std::vector<std::string>{"other reports what this run ordered: it guesses"});
}

TEST_F(ComparisonTest, WithoutAPreciseDetectorNobodyIsTheMeasure) {
  const std::vector<RaceReport> a;
  const std::vector<RaceReport> b = {On("", 4)};
  const auto variables = CompareOpinions({{&kOther, &a}, {&kOther, &b}});
  ASSERT_EQ(variables.size(), 1u);
  EXPECT_EQ(variables[0].name, "0x1000") << "bytes without a name are named by their address";
  EXPECT_TRUE(variables[0].notes.empty());
}

}  // namespace
}  // namespace redflag
