#include "report/text.h"

#include <gtest/gtest.h>

#include <string>

#include "report/json.h"
#include "tests/unit/report/reports.h"

namespace redflag {
namespace {

AccessSite Site(std::string thread, AccessKind kind) {
  return AccessSite{.thread = std::move(thread),
                    .kind = kind,
                    .origin = AccessOrigin::kProgram,
                    .addr = Addr{0x1000},
                    .size = 1,
                    .stack = {Frame{.function = "f", .file = "a.cc", .line = 3, .column = 0}},
                    .locks = {}};
}

RaceReport Report() {
  RaceReport report;
  report.detector = "hb";
  report.addr = Addr{0x1000};
  report.size = 1;
  report.access = Site("b", AccessKind::kWrite);
  report.earlier = {Site("a", AccessKind::kAtomicRead)};
  return report;
}

HeldLockInfo Lock(std::string name, LockMode mode) {
  return HeldLockInfo{.name = std::move(name), .mode = mode, .taken_at = {}};
}

TEST(TextTest, BytesWithoutANameAreShownByAddress) {
  const std::string text = RenderText(Report(), Colour::kNo);
  EXPECT_NE(text.find("DATA RACE on 1 byte at 0x1000\n"), std::string::npos) << text;
  EXPECT_NE(text.find("earlier atomic read of 1 byte by thread a\n    #0 f  a.cc:3\n"), std::string::npos) << text;
}

TEST(TextTest, OmittedAccessesAreCounted) {
  RaceReport report = Report();
  report.earlier_omitted = 4;
  EXPECT_NE(RenderText(report, Colour::kNo).find("and 4 more earlier accesses"), std::string::npos);
  EXPECT_EQ(ToJson(report)["earlier_omitted"], 4);
}

TEST(TextTest, TheJudgementIsShown) {
  const std::string text = RenderText(FullReport(), Colour::kNo);
  EXPECT_TRUE(
      text.starts_with("DATA RACE on Cache::size+8 (8 bytes at 0x7f0000001000)\n"
                       "  rank: high: precise detector; write\n"
                       "  pattern: lock missing on one side\n"
                       "  write of 8 bytes by thread T1\n"))
      << text;
  EXPECT_NE(text.find("  why: nothing orders them\n"
                      "  seen: 3 of 4 accesses hold Cache::mu\n"
                      "  suggestion: hold Cache::mu in main too\n"
                      "  confirmed by hybrid\n"
                      "  seen 3 more times\n"
                      "  fingerprint: 0123abcd\n"
                      "  in: /src/app/build/app (process 99), found by hb\n"),
            std::string::npos)
      << text;
}

TEST(TextTest, ShortStacksLeaveLibrariesOutAndSaySo) {
  RaceReport report = Report();
  report.access.stack = {
      FrameAt("std::vector<int>::push_back(int)", "/usr/include/vector", 9),
      FrameAt("Add(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >)", "a.cc", 3),
      FrameAt("std::invoke()", "/usr/include/functional", 5), FrameAt("main", "a.cc", 8)};
  EXPECT_NE(
      RenderText(report, Colour::kNo, Detail::kShort)
          .find("    #0 std::vector<int>::push_back(int)  /usr/include/vector:9\n    #1 Add(std::string)  a.cc:3\n"
                "    #3 main  a.cc:8\n    (1 frame not shown: --full)\n"),
      std::string::npos)
      << RenderText(report, Colour::kNo, Detail::kShort);
  EXPECT_NE(RenderText(report, Colour::kNo, Detail::kFull).find("    #2 std::invoke()"), std::string::npos);
}

TEST(TextTest, ShortStacksLeaveOutTheMiddle) {
  RaceReport report = Report();
  report.access.stack.assign(100, FrameAt("f", "a.cc", 3));
  const std::string text = RenderText(report, Colour::kNo, Detail::kShort);
  EXPECT_NE(text.find("    #8 f  a.cc:3\n    #97 f  a.cc:3\n"), std::string::npos) << text;
  EXPECT_NE(text.find("    (88 frames not shown: --full)\n"), std::string::npos) << text;
}

TEST(TextTest, AStackOfLibrariesOnlyIsShown) {
  RaceReport report = Report();
  report.access.stack.assign(2, FrameAt("std::f", "/usr/include/x", 3));
  EXPECT_EQ(RenderText(report, Colour::kNo, Detail::kShort), RenderText(report, Colour::kNo));
}

TEST(TextTest, VariablesOnStacksHaveAFunctionAndALine) {
  RaceReport report = Report();
  report.variable = "pool.slots[5].hits";
  RacyBlock& block = report.block.emplace();
  block.place = RacyBlock::Place::kStack;
  block.thread = "main";
  block.function = "Fill(int)";
  const auto says = [&](const std::string& line) {
    return RenderText(report, Colour::kNo).find("\n  the bytes are " + line + "\n") != std::string::npos;
  };
  EXPECT_TRUE(says("local variable 'pool.slots[5].hits' of Fill(int), on the stack of thread main"));
  block.declared_at = {Frame{.function = "", .file = "a.cc", .line = 12}};
  EXPECT_TRUE(says("local variable 'pool.slots[5].hits' of Fill(int) (a.cc:12), on the stack of thread main"));
  block.parameter = true;
  EXPECT_TRUE(says("parameter 'pool.slots[5].hits' of Fill(int) (a.cc:12), on the stack of thread main"));
  report.variable = "";
  EXPECT_TRUE(says("in the frame of Fill(int), on the stack of thread main"));
  block.function = "";
  EXPECT_TRUE(says("on the stack of thread main"));
}

TEST(ExplainRaceTest, SaysWhichLocksWereHeld) {
  RaceReport report = Report();
  EXPECT_NE(ExplainRace(report).find("neither thread holds a lock"), std::string::npos);
  report.access.locks = {Lock("m", LockMode::kExclusive)};
  EXPECT_NE(ExplainRace(report).find("b holds m, a holds no lock"), std::string::npos);
  report.earlier[0].locks = {Lock("n", LockMode::kExclusive)};
  EXPECT_NE(ExplainRace(report).find("they hold different locks: a holds n, b holds m"), std::string::npos);
  report.access.locks = {Lock("n", LockMode::kShared)};
  report.earlier[0].locks = {Lock("n", LockMode::kShared)};
  EXPECT_NE(ExplainRace(report).find("held for reading on both sides excludes nobody"), std::string::npos);
}

TEST(DescribeTest, NamesEveryKindAndOrigin) {
  AccessSite site = Site("a", AccessKind::kWrite);
  EXPECT_EQ(Describe(site), "write");
  site.origin = AccessOrigin::kTransaction;
  EXPECT_EQ(Describe(site), "transactional write");
  site.kind = AccessKind::kRead;
  EXPECT_EQ(Describe(site), "transactional read");
  site.origin = AccessOrigin::kFree;
  EXPECT_EQ(Describe(site), "free");
  site.origin = AccessOrigin::kAlloc;
  EXPECT_EQ(Describe(site), "allocation");
  site.origin = AccessOrigin::kProgram;
  EXPECT_EQ(Describe(site), "read");
  site.kind = AccessKind::kAtomicWrite;
  EXPECT_EQ(Describe(site), "atomic write");
}

}  // namespace
}  // namespace redflag
