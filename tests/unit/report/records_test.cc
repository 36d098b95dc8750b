#include "report/records.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "report/json.h"
#include "tests/unit/report/reports.h"

namespace redflag {
namespace {

RaceReport Named(const std::string& variable, const std::string& fingerprint = "") {
  RaceReport report = FullReport();
  report.variable = variable;
  report.fingerprint = fingerprint;
  report.repeated = 0;
  report.judgement.reset();
  return report;
}

RaceReport Ranked(const std::string& variable, Judgement::Rank rank) {
  RaceReport report = Named(variable);
  report.judgement.emplace().rank = rank;
  return report;
}

std::string LineOf(const RaceReport& report) { return ToJson(report).dump() + "\n"; }

std::vector<RaceReport> Read(const std::string& text, std::vector<std::string>* complaints = nullptr) {
  std::istringstream in(text);
  Records records;
  records.Read(in, "f");
  if (complaints != nullptr) {
    *complaints = records.complaints();
  } else {
    EXPECT_TRUE(records.complaints().empty()) << records.complaints().front();
  }
  return records.TakeRanked();
}

std::vector<std::string> NamesOf(const std::vector<RaceReport>& reports) {
  std::vector<std::string> names;
  for (const RaceReport& report : reports) names.push_back(report.variable);
  return names;
}

using Names = std::vector<std::string>;

TEST(RecordsTest, ReadsLinesInOrder) {
  EXPECT_EQ(NamesOf(Read(LineOf(Named("a")) + "\n" + LineOf(Named("b")))), (Names{"a", "b"}));
  EXPECT_TRUE(Read("").empty());
}

TEST(RecordsTest, OneReportForEachFingerprint) {
  const auto reports = Read(LineOf(Named("a", "1")) + LineOf(Named("b", "2")) + LineOf(Named("c", "1")) +
                            LineOf(Named("d")) + LineOf(Named("d")));
  EXPECT_EQ(NamesOf(reports), (Names{"a", "b", "d", "d"}));
  EXPECT_EQ(reports[0].repeated, 1u);
  EXPECT_EQ(reports[1].repeated, 0u);
}

TEST(RecordsTest, OneFingerprintInOtherLinesIsAnotherRace) {
  RaceReport elsewhere = Named("b", "1");
  elsewhere.earlier[0].stack[0].line += 1;
  RaceReport turned = Named("c", "1");  // the other side came first, and more were seen
  std::swap(turned.access, turned.earlier[0]);
  turned.earlier.push_back(elsewhere.earlier[0]);
  const auto reports =
      Read(LineOf(Named("a", "1")) + LineOf(elsewhere) + LineOf(turned) + R"({"kind":"summary","repeated":{"1":40}})");
  EXPECT_EQ(NamesOf(reports), (Names{"a", "b"}));
  EXPECT_EQ(reports[0].repeated, 41u);
  EXPECT_EQ(reports[1].repeated, 0u);
}

TEST(RecordsTest, TheSummaryOfAProcessAddsRepetitions) {
  const auto reports = Read(LineOf(Named("a", "1")) + LineOf(Named("b", "2")) +
                            R"({"kind":"summary","pid":99,"races":2,"repeated":{"1":41,"unknown":5,"2":"x"}})"
                            "\n"
                            R"({"kind":"summary","repeated":7})"
                            "\n");
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].repeated, 41u);
  EXPECT_EQ(reports[1].repeated, 0u);
}

TEST(RecordsTest, TheHighestRankComesFirstThenTheOrderOfReading) {
  const auto reports =
      Read(LineOf(Ranked("low", Judgement::Rank::kLow)) + LineOf(Named("none")) +
           LineOf(Ranked("medium", Judgement::Rank::kMedium)) + LineOf(Ranked("high", Judgement::Rank::kHigh)));
  EXPECT_EQ(NamesOf(reports), (Names{"high", "none", "medium", "low"}));
}

TEST(RecordsTest, ReadsTheDocumentOfAnalyze) {
  nlohmann::ordered_json document = {{"redflag", "0.1.0"},
                                     {"results", {{{"races", {ToJson(Named("a")), ToJson(Named("b"))}}}}}};
  EXPECT_EQ(NamesOf(Read(document.dump(2))), (Names{"a", "b"}));
  EXPECT_EQ(NamesOf(Read(document.dump())), (Names{"a", "b"}));
  document["results"][0]["races"][0].erase("access");
  std::vector<std::string> complaints;
  EXPECT_EQ(NamesOf(Read(document.dump(2), &complaints)), (Names{"b"}));
  ASSERT_EQ(complaints.size(), 1u);
  EXPECT_EQ(complaints[0], "f:1: results[0].races[0]: there is no \"access\"");
}

TEST(RecordsTest, OfALineThatIsCutOffTheOthersAreKept) {
  const std::string line = LineOf(Named("b"));
  std::vector<std::string> complaints;
  EXPECT_EQ(NamesOf(Read(LineOf(Named("a")) + line.substr(0, line.size() / 2), &complaints)), (Names{"a"}));
  ASSERT_EQ(complaints.size(), 1u);
  EXPECT_TRUE(complaints[0].starts_with("f:2: the last line is cut off")) << complaints[0];
  EXPECT_EQ(NamesOf(Read(line.substr(0, line.size() - 1))), (Names{"b"})) << "whole, but for its end";
}

TEST(RecordsTest, OfDamagedLinesTheOthersAreKept) {
  const std::string deep(100000, '[');
  std::vector<std::string> complaints;
  const auto reports = Read("nonsense\n" + LineOf(Named("a")) + deep + "\n{}\n[]\n{\"kind\":\"data-race\"}\n" +
                                R"({"kind":"of the future"})" + "\n\xff\xfe\n" + LineOf(Named("b")),
                            &complaints);
  EXPECT_EQ(NamesOf(reports), (Names{"a", "b"}));
  EXPECT_EQ(complaints, (Names{"f:1: this is not JSON", "f:3: nested too deeply for a report",
                               "f:4: neither a report nor a document of `redflag analyze --json`",
                               "f:5: an object was expected", "f:6: there is no \"detector\"", "f: 1 more like that"}));
}

TEST(RecordsTest, ALineThatIsTooLongIsPassedOver) {
  std::vector<std::string> complaints;
  const std::string giant = R"({"kind":")" + std::string(size_t{40} << 20, 'x') + "\"}\n";
  EXPECT_EQ(NamesOf(Read(LineOf(Named("a")) + giant + LineOf(Named("b")), &complaints)), (Names{"a", "b"}));
  EXPECT_EQ(complaints, (Names{"f:2: a line of more than 16 MiB, which is no report"}));
}

}  // namespace
}  // namespace redflag
