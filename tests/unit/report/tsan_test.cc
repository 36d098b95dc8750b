#include "report/tsan.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/report/reports.h"

namespace redflag {
namespace {

TEST(TsanTest, IsWhatThreadSanitizerWouldPrint) {
  EXPECT_EQ(RenderTsan(FullReport()), R"(==================
WARNING: ThreadSanitizer: data race (pid=99)
  Write of size 8 at 0x7f0000001000 by thread T1 'filler' (mutexes: write M0):
    #0 Cache::Add(int) /src/app/cache.cc:13:5 (app+0x1234)
    #1 std::thread::_M_run() /usr/include/c++/12/thread:210:7 (0x0)

  Previous atomic read of size 8 at 0x7f0000001000 by main thread:
    #0 main /src/app/main file.cc:40:9 (0x0)

  Location is heap block of size 64 at 0x7f0000000ff8 allocated by main thread:
    #0 main /src/app/main file.cc:29:1 (0x0)

  Mutex M0 (Cache::mu) taken at:
    #0 Cache::Add(int) /src/app/cache.cc:12:3 (0x0)

  Thread T1 'filler' (tid=4711, finished) created by main thread at:
    #0 main /src/app/main file.cc:30:2 (0x0)

SUMMARY: ThreadSanitizer: data race /src/app/cache.cc:13:5 in Cache::Add(int)
==================
)");
}

TEST(TsanTest, NamesTheKindsAsThreadSanitizerDoes) {
  RaceReport report = FullReport();
  report.access.vptr = true;
  EXPECT_NE(RenderTsan(report).find("ThreadSanitizer: data race on vptr (ctor/dtor vs virtual call) (pid=99)"),
            std::string::npos);
  report.earlier[0].origin = AccessOrigin::kFree;
  EXPECT_NE(RenderTsan(report).find("heap-use-after-free (virtual call vs free)"), std::string::npos);
  report.access.vptr = false;
  EXPECT_NE(RenderTsan(report).find("ThreadSanitizer: heap-use-after-free (pid=99)"), std::string::npos);
}

TEST(TsanTest, SaysWhereTheBytesAre) {
  RaceReport report = FullReport();
  report.variable = "counter";
  report.block = RacyBlock{.place = RacyBlock::Place::kGlobal,
                           .begin = Addr{0x55d0c0ffee00},
                           .size = 4,
                           .thread = "",
                           .allocated_at = {},
                           .module = "/bin/app",
                           .module_offset = 0x40};
  EXPECT_NE(RenderTsan(report).find("  Location is global 'counter' of size 4 at 0x55d0c0ffee00 (app+0x40)\n\n"),
            std::string::npos);
  report.block->place = RacyBlock::Place::kStack;
  report.block->thread = "T1";
  EXPECT_NE(RenderTsan(report).find("  Location is stack of thread T1 'filler'.\n\n"), std::string::npos);
  report.block->place = RacyBlock::Place::kThreadLocal;
  report.block->thread = "main";
  EXPECT_NE(RenderTsan(report).find("  Location is TLS of main thread.\n\n"), std::string::npos);
}

TEST(TsanTest, WhoUsesALockReadsItAtomically) {
  RaceReport report = FullReport();
  report.access.kind = AccessKind::kRead;
  report.access.stack.front().called = "pthread_mutex_lock";
  EXPECT_NE(RenderTsan(report).find("  Atomic read of size 8 at 0x7f0000001000 by thread T1"), std::string::npos);
  report.access.kind = AccessKind::kWrite;
  report.access.stack.front().called = "pthread_mutex_init";
  EXPECT_NE(RenderTsan(report).find("  Write of size 8 at 0x7f0000001000 by thread T1"), std::string::npos);
  report.access.kind = AccessKind::kRead;
  report.access.stack.front().called = "memcpy";
  EXPECT_NE(RenderTsan(report).find("  Read of size 8 at 0x7f0000001000 by thread T1"), std::string::npos);
}

TEST(TsanTest, ThreadsAreCreatedByPthreadCreateWhateverTheFrameCalled) {
  RaceReport report = FullReport();
  report.threads.front().created_at.front().module = "/bin/app";
  EXPECT_NE(RenderTsan(report).find("created by main thread at:\n"
                                    "    #0 pthread_create <null> (app+0x0)\n"
                                    "    #1 main /src/app/main file.cc:30:2 (app+0x0)\n"),
            std::string::npos)
      << RenderTsan(report);
}

TEST(TsanTest, CodeWithoutSourceHasItsModule) {
  RaceReport report = FullReport();
  report.access.stack = {Frame{.function = "", .file = "", .module = "/opt/lib/x.so", .offset = 0x10}};
  const std::string text = RenderTsan(report);
  EXPECT_NE(text.find("    #0 <null> <null> (x.so+0x10)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("SUMMARY: ThreadSanitizer: data race (x.so+0x10) in <null>\n"), std::string::npos) << text;
  report.access.stack.clear();
  EXPECT_NE(RenderTsan(report).find("[failed to restore the stack]"), std::string::npos);
}

TEST(TsanTest, CountsAtTheEnd) {
  EXPECT_EQ(TsanSummary(0), "");
  EXPECT_EQ(TsanSummary(2), "ThreadSanitizer: reported 2 warnings\n");
}

}  // namespace
}  // namespace redflag
