#include "report/fingerprint.h"

#include <gtest/gtest.h>

#include <utility>

namespace redflag {
namespace {

Frame At(std::string function, std::string file, uint32_t line) {
  return Frame{.function = std::move(function), .file = std::move(file), .line = line, .column = 1};
}

RaceReport Report() {
  RaceReport report;
  report.variable = "cache";
  report.addr = Addr{0x1000};
  report.size = 4;
  report.access = AccessSite{.thread = "T1",
                             .kind = AccessKind::kWrite,
                             .origin = AccessOrigin::kProgram,
                             .addr = Addr{0x1000},
                             .size = 4,
                             .stack = {At("Cache::Put(int)", "cache.cc", 10), At("Fill()", "main.cc", 20),
                                       At("Worker(void*)", "main.cc", 30), At("main", "main.cc", 40)},
                             .locks = {}};
  AccessSite read = report.access;
  read.thread = "main";
  read.kind = AccessKind::kRead;
  read.stack = {At("Cache::Get() const", "cache.cc", 15), At("main", "main.cc", 50)};
  report.earlier = {read};
  return report;
}

TEST(FingerprintTest, IsTheSameOnEveryMachine) {
  EXPECT_EQ(FingerprintText(Report()), "cache\nread Cache::Get < main\nwrite Cache::Put < Fill < Worker");
  EXPECT_EQ(FingerprintOf(Report()), "5ef965d6a3325bdf");
}

TEST(FingerprintTest, LinesAddressesThreadsAndOrderDoNotCount) {
  RaceReport other = Report();
  std::swap(other.access, other.earlier[0]);
  other.addr = Addr{0x2000};
  other.access.addr = Addr{0x2000};
  other.access.thread = "T7";
  for (Frame& frame : other.access.stack) frame.line += 50;
  for (Frame& frame : other.earlier[0].stack) frame.offset = 0x123;
  EXPECT_EQ(FingerprintOf(other), FingerprintOf(Report()));
}

TEST(FingerprintTest, VariablesOnStacksDoNotCount) {
  RaceReport local = Report();
  local.block.emplace().place = RacyBlock::Place::kStack;
  RaceReport unknown = local;
  unknown.variable = "";
  EXPECT_EQ(FingerprintText(local), "\nread Cache::Get < main\nwrite Cache::Put < Fill < Worker");
  EXPECT_EQ(FingerprintOf(local), FingerprintOf(unknown));
}

TEST(FingerprintTest, FramesOfTheLibraryOuterCallersAndRecursionDoNotCount) {
  RaceReport other = Report();
  auto& stack = other.access.stack;
  stack.insert(stack.begin(),
               At("std::vector<int>::push_back(int const&)", "/usr/include/c++/12/bits/stl_vector.h", 1));
  stack.insert(stack.begin() + 2, stack[1]);
  stack.back().function = "other_main";
  EXPECT_EQ(FingerprintOf(other), FingerprintOf(Report()));
}

TEST(FingerprintTest, ElementsOfArraysAreAlike) {
  RaceReport one = Report();
  one.variable = "pool.slots[5].hits[1][2]";
  RaceReport other = Report();
  other.variable = "pool.slots[17].hits[0][3]";
  EXPECT_EQ(FingerprintOf(one), FingerprintOf(other));
  EXPECT_EQ(FingerprintText(one).substr(0, 22), "pool.slots[].hits[][]\n");
}

TEST(FingerprintTest, TheVariableTheKindsAndTheFunctionsCount) {
  RaceReport other = Report();
  other.variable = "other";
  EXPECT_NE(FingerprintOf(other), FingerprintOf(Report()));
  other = Report();
  other.access.origin = AccessOrigin::kFree;
  EXPECT_NE(FingerprintOf(other), FingerprintOf(Report()));
  other = Report();
  other.earlier[0].stack[0].function = "Cache::Has() const";
  EXPECT_NE(FingerprintOf(other), FingerprintOf(Report()));
}

TEST(FingerprintTest, CodeWithoutNamesCountsByItsFile) {
  RaceReport other;
  other.access.stack = {Frame{.function = "", .file = "", .line = 0, .column = 0, .module = "/lib/x.so", .offset = 16}};
  RaceReport moved = other;
  moved.access.stack[0].offset = 32;
  EXPECT_EQ(FingerprintOf(other), FingerprintOf(moved));
}

TEST(FingerprintTest, FunctionsAndVariablesWithoutNamesCountByTheirPlaces) {
  const auto at = [](const std::string& unnamed) {
    Frame frame{.function = "", .file = "", .module = "/usr/bin/server", .offset = 0x1010};
    frame.unnamed = unnamed;
    return frame;
  };
  RaceReport one;
  one.access.origin = AccessOrigin::kProgram;
  one.access.kind = AccessKind::kRead;
  one.access.stack = {at("b01d+1000"), at("b01d+3000")};
  one.earlier = {one.access};
  EXPECT_EQ(FingerprintText(one),
            "\nread in server b01d+1000 < in server b01d+3000\nread in server b01d+1000 < in server b01d+3000");
  RaceReport other = one;
  other.access.stack[0].offset = 0x1020;
  EXPECT_EQ(FingerprintOf(one), FingerprintOf(other)) << "another instruction of the same function";
  other.access.stack[0].unnamed = "b01d+2000";
  EXPECT_NE(FingerprintOf(one), FingerprintOf(other)) << "another function";
  other = one;
  RacyBlock& block = one.block.emplace();
  block.place = RacyBlock::Place::kGlobal;
  block.module = "/usr/bin/server";
  block.module_offset = 0x9000;
  EXPECT_EQ(FingerprintText(one).substr(0, 12), "server+9000\n");
  EXPECT_NE(FingerprintOf(one), FingerprintOf(other)) << "a variable that has a place";
}

TEST(FingerprintTest, WhereThereAreNamesPlacesDoNotCount) {
  RaceReport placed = Report();
  placed.variable.clear();
  const std::string before = FingerprintOf(placed);
  RacyBlock& block = placed.block.emplace();
  block.place = RacyBlock::Place::kGlobal;
  block.module = "/usr/bin/server";
  block.module_offset = 0x9000;
  EXPECT_EQ(FingerprintOf(placed), before);
}

}  // namespace
}  // namespace redflag
