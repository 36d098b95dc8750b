#include "report/editor.h"

#include <gtest/gtest.h>

#include "tests/unit/report/reports.h"

namespace redflag {
namespace {

TEST(EditorTest, IsAWarningAndANoteForEveryOtherPlace) {
  EXPECT_EQ(
      RenderEditor(FullReport(), SourceRoot("/src/app/")),
      "cache.cc:13:5: warning: data race on Cache::size+8: write of 8 bytes by thread T1 in Cache::Add(int), holding "
      "Cache::mu [lock missing on one side]\n"
      "main file.cc:40:9: note: earlier atomic read of 8 bytes by thread main in main\n"
      "main file.cc:29:1: note: the memory was allocated here\n"
      "main file.cc:30:2: note: thread T1 was created here\n"
      "cache.cc:13:5: note: suggestion: hold Cache::mu in main too\n");
}

TEST(EditorTest, AVariableOnAStackIsShownWhereItIsDeclared) {
  RaceReport report = FullReport();
  report.variable = "total";
  report.block->place = RacyBlock::Place::kStack;
  report.block->allocated_at.clear();
  report.block->declared_at = {FrameAt("", "/src/app/cache.cc", 9)};
  EXPECT_NE(RenderEditor(report, SourceRoot("/src/app")).find("\ncache.cc:9: note: total is declared here\n"),
            std::string::npos);
}

TEST(EditorTest, AnAccessInALibraryIsShownWhereItIsCalled) {
  RaceReport report = FullReport();
  report.access.stack = {FrameAt("std::vector<int>::push_back(int)", "/usr/include/c++/12/bits/stl_vector.h", 1100, 3),
                         FrameAt("Fill()", "/src/fill.cc", 5)};
  EXPECT_TRUE(RenderEditor(report, SourceRoot("/src")).starts_with("fill.cc:5: warning: "));
}

TEST(EditorTest, WithoutSourceTheModuleIsThePlace) {
  RaceReport report = FullReport();
  report.access.stack = {Frame{.function = "f", .file = "", .module = "/opt/x.so", .offset = 0x10}};
  EXPECT_TRUE(RenderEditor(report, SourceRoot("")).starts_with("/opt/x.so+0x10: warning: "));
  report.access.stack.clear();
  EXPECT_TRUE(RenderEditor(report, SourceRoot("")).starts_with("<unknown>: warning: "));
}

}  // namespace
}  // namespace redflag
