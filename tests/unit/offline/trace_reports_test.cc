#include "offline/trace_reports.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "offline/expectations.h"
#include "report/json.h"
#include "report/text.h"
#include "trace/text_reader.h"

namespace redflag {
namespace {

Trace Read(const std::string& text) {
  TraceResult result = ReadTextTraceFromString(text, "t.trace");
  if (const auto* error = std::get_if<TraceError>(&result)) ADD_FAILURE() << FormatError(*error, "t.trace");
  return std::get<Trace>(std::move(result));
}

Analysis RunHb(const Trace& trace) { return FindDetector("hb")->analyze(trace, {}); }

constexpr const char* kCache = R"(
var Cache::size 4
main fork t1 @main.cc:5
main fork t2 @main.cc:6
t1 name "filler"
t1 enter Worker @main.cc:20
t1 enter Cache::Add @worker.cc:8
t1 lock m @cache.cc:12
t1 write Cache::size @cache.cc:13:5
t1 unlock m
t1 exit
t2 write Cache::size+2:2 @cache.cc:40  !race
)";

TEST(TraceReportsTest, AReportHasBothStacksLocksAndThreads) {
  const Trace trace = Read(kCache);
  const std::vector<RaceReport> reports = BuildReports(trace, RunHb(trace));
  ASSERT_EQ(reports.size(), 1u);
  const RaceReport& report = reports[0];
  EXPECT_EQ(report.variable, "Cache::size");
  EXPECT_EQ(report.offset, 2u);
  EXPECT_EQ(report.size, 2u);
  EXPECT_EQ(report.trace_line, 12u);

  EXPECT_EQ(report.access.thread, "t2");
  ASSERT_EQ(report.access.stack.size(), 1u);
  EXPECT_EQ(report.access.stack[0].line, 40u);
  EXPECT_TRUE(report.access.locks.empty());

  ASSERT_EQ(report.earlier.size(), 1u);
  const AccessSite& earlier = report.earlier[0];
  EXPECT_EQ(earlier.thread, "t1");
  EXPECT_EQ(earlier.size, 4u);
  ASSERT_EQ(earlier.stack.size(), 2u);
  EXPECT_EQ(earlier.stack[0].function, "Cache::Add");
  EXPECT_EQ(earlier.stack[0].line, 13u);
  EXPECT_EQ(earlier.stack[0].column, 5u);
  EXPECT_EQ(earlier.stack[1].function, "Worker");
  EXPECT_EQ(earlier.stack[1].file, "worker.cc") << "a caller stands where it made the call";
  ASSERT_EQ(earlier.locks.size(), 1u);
  EXPECT_EQ(earlier.locks[0].name, "m");
  EXPECT_EQ(earlier.locks[0].taken_at.at(0).line, 12u);

  ASSERT_EQ(report.threads.size(), 2u);
  EXPECT_EQ(report.threads[1].title, "filler");
  EXPECT_EQ(report.threads[1].creator, "main");
  EXPECT_EQ(report.threads[1].created_at.at(0).line, 5u);
  EXPECT_EQ(report.why,
            "nothing in this run orders the write by t1 before the write by t2; t1 holds m, t2 holds no lock");
}

TEST(TraceReportsTest, TextShowsWhatMatters) {
  const Trace trace = Read(kCache);
  const std::string text = RenderText(BuildReports(trace, RunHb(trace)).at(0), Colour::kNo);
  for (const char* part : {"DATA RACE on Cache::size+2 (2 bytes at", "write of 2 bytes by thread t2",
                           "earlier write of 4 bytes by thread t1", "#0 Cache::Add  cache.cc:13:5",
                           "#1 Worker  worker.cc:8", "holds m, taken at cache.cc:12", "locks held: none",
                           "thread t1 \"filler\" was created by main at main.cc:5", "at: t.trace:12, found by hb"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
  }
  EXPECT_EQ(text.find('\033'), std::string::npos);
  EXPECT_NE(RenderText(BuildReports(trace, RunHb(trace)).at(0), Colour::kYes).find('\033'), std::string::npos);
}

TEST(TraceReportsTest, JsonSaysTheSame) {
  const Trace trace = Read(kCache);
  const auto json = ToJson(BuildReports(trace, RunHb(trace)).at(0));
  EXPECT_EQ(json["variable"], "Cache::size");
  EXPECT_EQ(json["access"]["thread"], "t2");
  EXPECT_EQ(json["access"]["write"], true);
  EXPECT_EQ(json["earlier"][0]["stack"][0]["function"], "Cache::Add");
  EXPECT_EQ(json["earlier"][0]["locks"][0]["mode"], "exclusive");
  EXPECT_EQ(json["trace"]["line"], 12);
}

TEST(TraceReportsTest, OneAccessOverTwoVariablesIsTwoReports) {
  const Trace trace = Read(R"(
threads a b
var x 8 at 0x1000
var y 8 at 0x1008
a write 0x1000:16
b write 0x1004:8
)");
  const std::vector<RaceReport> reports = BuildReports(trace, RunHb(trace));
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].variable, "x");
  EXPECT_EQ(reports[0].offset, 4u);
  EXPECT_EQ(reports[1].variable, "y");
  EXPECT_EQ(reports[1].size, 4u);
}

TEST(TraceReportsTest, AFreeOfUntouchedMemoryIsOneReport) {
  const Trace trace = Read("threads a b\na alloc p 100000\nb free p\n");
  const std::vector<RaceReport> reports = BuildReports(trace, RunHb(trace));
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].size, 100000u);
  EXPECT_EQ(Describe(reports[0].access), "free");
  EXPECT_EQ(Describe(reports[0].earlier.at(0)), "allocation");
}

TEST(TraceReportsTest, AReusedAddressHasTheNameOfItsTime) {
  const Trace trace = Read(R"(
threads a b
a alloc first 8
a free first
a alloc second 8 at first
b write second
)");
  EXPECT_EQ(BuildReports(trace, RunHb(trace)).at(0).variable, "second");
}

std::vector<Mismatch> Mismatches(const std::string& text) {
  const Trace trace = Read(text);
  return CheckExpectations(trace, RunHb(trace));
}

TEST(ExpectationsTest, AnExpectedRaceIsFine) {
  EXPECT_TRUE(Mismatches("threads a b\na write x\nb write x !race\n").empty());
  EXPECT_TRUE(Mismatches("threads a b\na write x\nb write x !race(hb)\n").empty());
}

TEST(ExpectationsTest, ATraceWithoutExpectationsExpectsNothing) {
  EXPECT_TRUE(Mismatches("threads a b\na write x\nb write x\n").empty());
}

TEST(ExpectationsTest, AMissingRaceIsAMismatch) {
  const auto mismatches = Mismatches("threads a b\na write x !race\n");
  ASSERT_EQ(mismatches.size(), 1u);
  EXPECT_EQ(mismatches[0].line, 2u);
  EXPECT_EQ(mismatches[0].message, "hb should report a race here and does not");
}

TEST(ExpectationsTest, ARaceAtAnUnmarkedEventIsAMismatch) {
  const auto mismatches = Mismatches("threads a b\na write x\nb write x\na write y\nb write y !race\n");
  ASSERT_EQ(mismatches.size(), 1u);
  EXPECT_EQ(mismatches[0].line, 3u);
}

TEST(ExpectationsTest, NoraceAndMissMeanSilence) {
  EXPECT_EQ(Mismatches("threads a b\na write x\nb write x !norace\n").size(), 1u);
  EXPECT_EQ(Mismatches("threads a b\na write x\nb write x !race !miss(hb): it is late [TS 4]\n").size(), 1u);
  EXPECT_TRUE(Mismatches("threads a b\na write x !race(other)\nb read y !norace\n").empty());
}

}  // namespace
}  // namespace redflag
