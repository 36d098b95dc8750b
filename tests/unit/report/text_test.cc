#include "report/text.h"

#include <gtest/gtest.h>

#include <string>

#include "report/json.h"

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
