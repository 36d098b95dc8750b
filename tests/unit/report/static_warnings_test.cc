#include "report/static_warnings.h"

#include <gtest/gtest.h>

#include <sstream>

#include "report/records.h"
#include "tests/unit/report/reports.h"

namespace redflag {
namespace {

// T1 writes in /src/app/cache.cc:13, main reads in /src/app/main file.cc:40.
std::vector<std::string> Confirmed(const std::string& text, std::string* problem = nullptr) {
  StaticWarnings warnings;
  std::istringstream in(text);
  const std::string said = warnings.Read(in, "w");
  if (problem != nullptr)
    *problem = said;
  else
    EXPECT_EQ(said, "");
  RaceReport report = FullReport();
  report.confirmed_by.clear();
  warnings.Confirm(report);
  return report.confirmed_by;
}

using Texts = std::vector<std::string>;

TEST(StaticWarningsTest, WhatCompilersPrint) {
  const std::string rest =
      ": warning: writing variable 'size' requires holding mutex 'mu' [-Wthread-safety-analysis]\n";
  EXPECT_EQ(Confirmed("In file included\ncache.cc:13:5" + rest), Texts{"-Wthread-safety-analysis at cache.cc:13"});
  EXPECT_EQ(Confirmed("./app/cache.cc:13" + rest), Texts{"-Wthread-safety-analysis at app/cache.cc:13"});
  EXPECT_EQ(Confirmed("/src/app/cache.cc:13:1" + rest + "main file.cc:40:2: error: a data race\n"),
            (Texts{"-Wthread-safety-analysis at /src/app/cache.cc:13", "a data race at main file.cc:40"}));
  EXPECT_EQ(Confirmed("cache.cc:14:5" + rest), Texts());    // another line
  EXPECT_EQ(Confirmed("mycache.cc:13:5" + rest), Texts());  // another file
  EXPECT_EQ(Confirmed("/other/cache.cc:13:5" + rest), Texts());
  EXPECT_EQ(Confirmed("cache.cc:13:5: warning: unused variable 'x' [-Wunused]\n"), Texts());  // of something else
  EXPECT_EQ(Confirmed("cache.cc:0: warning: race\n:13: warning: race\ncache.cc:13"), Texts());
}

TEST(StaticWarningsTest, Sarif) {
  const auto sarif = [](const std::string& result) {
    return R"({"version":"2.1.0","runs":[{"results":[)" + result + "]}]}";
  };
  const auto location = [](const std::string& uri, const std::string& line) {
    return R"({"physicalLocation":{"artifactLocation":{"uri":")" + uri + R"("},"region":{"startLine":)" + line + "}}}";
  };
  EXPECT_EQ(Confirmed(sarif(R"({"ruleId":"THREAD_SAFETY_VIOLATION","message":{"text":"m"},"locations":[)" +
                            location("file:///src/app/cache.cc", "13") + "]}")),
            Texts{"THREAD_SAFETY_VIOLATION at /src/app/cache.cc:13"});
  EXPECT_EQ(Confirmed(sarif(R"({"rule":{"id":"r"},"message":{"text":"Unprotected: a race"},"relatedLocations":[)" +
                            location("app/cache.cc", "13") + "]}")),
            Texts{"r at app/cache.cc:13"});
  EXPECT_EQ(
      Confirmed(sarif(R"({"ruleId":"style","message":{"text":"m"},"locations":[)" + location("cache.cc", "13") + "]}")),
      Texts());
  // Whatever it is, it does no harm.
  for (const std::string line : {"-1", "1e99", "\"13\"", "18446744073709551615", "null", "[]"}) {
    EXPECT_EQ(Confirmed(sarif(R"({"ruleId":"race","locations":[)" + location("cache.cc", line) + "]}")), Texts());
  }
  for (const std::string result :
       {"1", "[]", "{}", R"({"ruleId":1,"locations":{}})", R"({"ruleId":"race","locations":[1,{}]})"}) {
    EXPECT_EQ(Confirmed(sarif(result)), Texts());
  }
}

TEST(StaticWarningsTest, WhatIsNeitherIsTold) {
  std::string problem;
  Confirmed("{\"runs\": 1}", &problem);
  EXPECT_EQ(problem, "w: this is not SARIF");
  Confirmed("{\"runs\": [", &problem);
  EXPECT_EQ(problem, "w: this is not JSON");
  Confirmed("{" + std::string(100'000, '['), &problem);
  EXPECT_EQ(problem, "w: nested too deeply for SARIF");
}

TEST(StaticWarningsTest, ConfirmedRacesComeFirst) {
  Records records;
  RaceReport report = FullReport();
  report.confirmed_by.clear();
  report.fingerprint = "a";
  report.access.stack[0].line = 99;
  records.Add(report);
  report.fingerprint = "b";
  report.access.stack[0].line = 13;
  records.Add(report);
  report.fingerprint = "c";
  report.access.stack[0].line = 98;
  records.Add(report);
  report.detector = "goldilocks";
  records.Add(report);
  StaticWarnings warnings;
  std::istringstream in("cache.cc:13:5: warning: race\n");
  warnings.Read(in, "w");
  EXPECT_EQ(warnings.size(), 1u);
  records.Confirm(warnings);
  const std::vector<RaceReport> ranked = records.TakeRanked();
  ASSERT_EQ(ranked.size(), 3u);
  EXPECT_EQ(ranked[0].fingerprint, "b");
  EXPECT_EQ(ranked[1].fingerprint, "c");
  EXPECT_EQ(ranked[1].confirmed_by, Texts{"goldilocks"});
  EXPECT_EQ(ranked[1].detector, "hb");
  EXPECT_EQ(ranked[2].fingerprint, "a");
}

// The higher rank is shown, whoever came first.
TEST(StaticWarningsTest, TheHigherRankIsShown) {
  Records records;
  RaceReport report = FullReport();
  report.confirmed_by.clear();
  report.repeated = 0;
  report.detector = "hybrid";
  report.judgement->rank = Judgement::Rank::kLow;
  records.Add(report);
  report.detector = "hb";
  report.judgement->rank = Judgement::Rank::kHigh;
  records.Add(report);
  const std::vector<RaceReport> ranked = records.TakeRanked();
  ASSERT_EQ(ranked.size(), 1u);
  EXPECT_EQ(ranked[0].detector, "hb");
  EXPECT_EQ(ranked[0].confirmed_by, Texts{"hybrid"});
  EXPECT_EQ(ranked[0].repeated, 1u);
}

}  // namespace
}  // namespace redflag
