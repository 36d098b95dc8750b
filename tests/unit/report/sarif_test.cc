#include "report/sarif.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/unit/report/reports.h"

namespace redflag {
namespace {

using Json = nlohmann::ordered_json;

Json ResultOf(const RaceReport& report, const std::string& root = "/src/app") {
  return Json::parse(RenderSarif({report}, {}, SourceRoot(root), "1.2.3"))["runs"][0]["results"][0];
}

TEST(SarifTest, NamesTheToolItsRuleAndTheRoot) {
  const Json sarif = Json::parse(RenderSarif({}, {}, SourceRoot("/src/my app"), "1.2.3"));
  EXPECT_EQ(sarif["version"], "2.1.0");
  const Json& run = sarif["runs"][0];
  EXPECT_EQ(run["tool"]["driver"]["name"], "Redflag");
  EXPECT_EQ(run["tool"]["driver"]["version"], "1.2.3");
  EXPECT_EQ(run["tool"]["driver"]["rules"][0]["id"], "data-race");
  EXPECT_EQ(run["originalUriBaseIds"]["SRCROOT"]["uri"], "file:///src/my%20app/");
  EXPECT_EQ(run["results"], Json::array());
}

TEST(SarifTest, AResultHasTheCompletingAccessAndTheOthersRelated) {
  const Json result = ResultOf(FullReport());
  EXPECT_EQ(result["ruleId"], "data-race");
  EXPECT_EQ(result["level"], "error");
  const Json& place = result["locations"][0]["physicalLocation"];
  EXPECT_EQ(place["artifactLocation"], (Json{{"uri", "cache.cc"}, {"uriBaseId", "SRCROOT"}}));
  EXPECT_EQ(place["region"], (Json{{"startLine", 13}, {"startColumn", 5}}));
  const Json& related = result["relatedLocations"];
  ASSERT_EQ(related.size(), 2u) << "the other access, and the allocation";
  EXPECT_EQ(related[0]["physicalLocation"]["artifactLocation"]["uri"], "main%20file.cc");
  EXPECT_EQ(result["partialFingerprints"], (Json{{"redflag/v1", "0123abcd"}}));
  EXPECT_EQ(result["occurrenceCount"], 4);
  const std::string text = result["message"]["text"];
  for (const char* part :
       {"Data race on Cache::size+8", "[earlier atomic read of 8 bytes by thread main in main](0)",
        "Why: nothing orders them", "Seen: 3 of 4 accesses hold Cache::mu", "Suggestion: hold Cache::mu in main too"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
}

TEST(SarifTest, EachThreadHasAFlowWithItsCreationItsLocksAndItsWholeStack) {
  const Json result = ResultOf(FullReport());
  const Json& flows = result["codeFlows"][0]["threadFlows"];
  ASSERT_EQ(flows.size(), 2u);
  EXPECT_EQ(flows[0]["id"], "T1");
  EXPECT_EQ(flows[1]["id"], "main");
  const Json& steps = flows[0]["locations"];
  ASSERT_EQ(steps.size(), 4u) << "created, takes the lock, called, writes";
  EXPECT_EQ(steps[0]["location"]["message"]["text"], "thread T1 is created by main");
  EXPECT_EQ(steps[1]["location"]["message"]["text"], "takes Cache::mu");
  EXPECT_EQ(steps[3]["executionOrder"], 2);
  EXPECT_EQ(steps[3]["importance"], "essential");
  EXPECT_EQ(steps[3]["stack"]["frames"].size(), 2u);
  EXPECT_EQ(flows[1]["locations"].back()["executionOrder"], 1);
}

TEST(SarifTest, FilesOutsideOfTheRootAreAbsoluteAndNamesAreEncoded) {
  RaceReport report = FullReport();
  report.access.stack = {FrameAt("f", "/other/a b#%?\xc3\xa9.cc", 1)};
  EXPECT_EQ(ResultOf(report)["locations"][0]["physicalLocation"]["artifactLocation"],
            (Json{{"uri", "file:///other/a%20b%23%25%3F%C3%A9.cc"}}));
  report.access.stack = {FrameAt("f", "/src/app/build/../x.cc", 0)};
  const Json place = ResultOf(report)["locations"][0]["physicalLocation"];
  EXPECT_EQ(place["artifactLocation"]["uri"], "x.cc");
  EXPECT_FALSE(place.contains("region"));
}

TEST(SarifTest, BracketsInNamesAreNoLinks) {
  RaceReport report = FullReport();
  report.variable = "table[3]";
  const std::string text = ResultOf(report)["message"]["text"];
  EXPECT_NE(text.find(R"(table\[3\])"), std::string::npos) << text;
}

TEST(SarifTest, WhatIsNotKnownIsLeftOut) {
  RaceReport report;
  const Json result = ResultOf(report);
  EXPECT_EQ(result["level"], "warning");
  EXPECT_EQ(result["locations"], Json::array({Json::object()}));
  EXPECT_FALSE(result.contains("partialFingerprints"));
  EXPECT_FALSE(result.contains("relatedLocations"));
}

}  // namespace
}  // namespace redflag
