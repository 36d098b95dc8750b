#include "report/evidence.h"

#include <gtest/gtest.h>

#include "tests/unit/report/reports.h"

namespace redflag {
namespace {

AccessSite Site(const char* thread, AccessKind kind, uint32_t line, std::vector<std::string> locks = {}) {
  AccessSite site = SiteOf(thread, kind, {FrameAt("f", "x.cc", line)});
  for (std::string& lock : locks) site.locks.push_back({.name = std::move(lock), .mode = {}, .taken_at = {}});
  return site;
}

RaceReport Race() {
  RaceReport report;
  report.access = Site("T2", AccessKind::kRead, 9);
  report.earlier = {Site("T1", AccessKind::kWrite, 5, {"m"})};
  return report;
}

std::string Known(wire::Handover how, std::string object = "m", std::vector<Frame> place = {FrameAt("g", "x.cc", 7)}) {
  const RaceReport report = Race();
  return DescribeKnown({.how = how, .object = std::move(object), .place = std::move(place)}, report.access,
                       report.earlier[0]);
}

TEST(EvidenceTest, TheLatestThatIsKnown) {
  EXPECT_EQ(Known(wire::Handover::kForgotten), "");
  EXPECT_EQ(Known(wire::Handover::kNothing),
            "nothing that T1 did has come to T2: no lock, signal, atomic or join hands it on");
  EXPECT_EQ(Known(wire::Handover::kUnlock),
            "the last that T2 knows of T1 is its unlock of m at x.cc:7; the write by T1 came after that");
  EXPECT_EQ(Known(wire::Handover::kUnlock, "m", {}),
            "the last that T2 knows of T1 is its unlock of m; the write by T1 came after that");
  EXPECT_EQ(Known(wire::Handover::kCreate, "T2"),
            "T1 created T2 at x.cc:7, and made the write after that: nothing has come from T1 to T2 since");
  EXPECT_EQ(Known(wire::Handover::kCreate, "T3"),
            "the last that T2 knows of T1 is its creation of thread T3 at x.cc:7; the write by T1 came after that");
  EXPECT_NE(Known(wire::Handover::kSignal).find("its signal through m at"), std::string::npos);
  EXPECT_NE(Known(wire::Handover::kStore).find("its atomic store to m at"), std::string::npos);
  EXPECT_NE(Known(wire::Handover::kFence).find("its memory fence at"), std::string::npos);
  EXPECT_NE(Known(wire::Handover::kBarrier).find("its arrival at the barrier m at"), std::string::npos);
}

TEST(EvidenceTest, WhoHasWhatTheThreadHasNot) {
  const RaceReport report = Race();
  const auto owners = [&](const OwnersByName& names) {
    return DescribeOwners(names, report.access, report.earlier[0]);
  };
  EXPECT_EQ(owners({.threads = {"T1"}}),
            "the write by T1 was handed on to nobody: T1 has unlocked, stored, signalled or created nothing since");
  EXPECT_EQ(owners({.threads = {"T1", "T3"}, .locks = {"m", "n"}, .signals = {"flag"}}),
            "the write by T1 was handed on to T3, and to whoever locks m or n or acquires flag; T2 is none of them");
  EXPECT_EQ(owners({.threads = {"T1"}, .write_locks = {"rw"}, .transactions = true, .more = 2}),
            "the write by T1 was handed on to whoever locks rw for writing or commits a transaction on the same bytes, "
            "and to 2 more; T2 is none of them");
  EXPECT_EQ(owners({.threads = {"T1"}, .more = 1}), "");
}

TEST(EvidenceTest, WhichOfTheTwoIsTooWeak) {
  const RaceReport report = Race();
  const auto weak = [&](MemoryOrder store, MemoryOrder load) {
    return DescribeWeak({.object = "flag",
                         .store = {FrameAt("g", "x.cc", 6)},
                         .load = {FrameAt("h", "x.cc", 8)},
                         .store_order = store,
                         .load_order = load},
                        report.access, report.earlier[0]);
  };
  EXPECT_EQ(weak(MemoryOrder::kRelaxed, MemoryOrder::kAcquire),
            "T1 stores to flag with memory_order_relaxed at x.cc:6, and T2 loads it with memory_order_acquire at "
            "x.cc:8: such a store hands nothing on, release would");
  EXPECT_NE(weak(MemoryOrder::kRelease, MemoryOrder::kRelaxed).find("such a load takes nothing over"),
            std::string::npos);
  EXPECT_NE(weak(MemoryOrder::kRelaxed, MemoryOrder::kRelaxed).find("relaxed operations order nothing else"),
            std::string::npos);
}

TEST(EvidenceTest, WhatIsUsuallyHeld) {
  RaceReport report = Race();
  EXPECT_EQ(DescribeLocking(report, {}), "");
  EXPECT_EQ(DescribeLocking(report, {Site("T1", AccessKind::kWrite, 5, {"m"})}), "");  // too few
  std::vector<AccessSite> since(3, Site("T1", AccessKind::kWrite, 5, {"n", "m"}));
  EXPECT_EQ(DescribeLocking(report, since), "4 of 5 accesses that were seen hold m; not the read at x.cc:9");
  since.push_back(Site("T2", AccessKind::kRead, 9, {"n"}));
  since.push_back(Site("T2", AccessKind::kWrite, 11));
  since.push_back(Site("T2", AccessKind::kWrite, 12));
  since.push_back(Site("T2", AccessKind::kWrite, 13));
  EXPECT_EQ(DescribeLocking(report, since),
            "4 of 9 accesses that were seen hold m; not the read at x.cc:9, the write at x.cc:11, the write at x.cc:12 "
            "and in 1 more place");
}

TEST(EvidenceTest, NoLockAndAlwaysTheSame) {
  RaceReport report = Race();
  report.earlier[0].locks.clear();
  std::vector<AccessSite> since(3, Site("T1", AccessKind::kWrite, 5));
  EXPECT_EQ(DescribeLocking(report, since), "none of 5 accesses that were seen holds a lock");
  since[0].locks_known = false;  // it does not count
  EXPECT_EQ(DescribeLocking(report, since), "none of 4 accesses that were seen holds a lock");
  for (AccessSite* site : {&report.access, &report.earlier[0], &since[1], &since[2]}) {
    site->locks = {{.name = "m", .mode = {}, .taken_at = {}}};
  }
  EXPECT_EQ(DescribeLocking(report, since), "all 4 accesses that were seen hold m");
}

}  // namespace
}  // namespace redflag
