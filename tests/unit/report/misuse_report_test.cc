#include "report/misuse_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace redflag {
namespace {

using testing::HasSubstr;
using testing::Not;

MisuseReport Destroyed() {
  MisuseReport report;
  report.title = "destroy of a locked mutex";
  report.category = "mutex";
  report.thread = "T1";
  report.where = {{.function = "Close()", .file = "/src/a.cc", .line = 12, .called = "pthread_mutex_destroy"}};
  report.mutex = "pool.lock";
  report.addr = Addr{0x7000};
  report.taken_at = {{.function = "Open()", .file = "/src/a.cc", .line = 5}};
  report.made_at = {{.function = "main", .file = "/src/a.cc", .line = 2}};
  report.command = "./app";
  report.pid = 77;
  return report;
}

TEST(MisuseReportTest, OurTextNamesThePlacesAndTheMutex) {
  const std::string text = RenderMisuse(TextForm::kShort, Destroyed(), Colour::kNo);
  EXPECT_THAT(text, HasSubstr("destroy of a locked mutex: pool.lock"));
  for (const char* part : {"by thread T1:", "Close() /src/a.cc:12", "Open() /src/a.cc:5", "main /src/a.cc:2", "77"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(MisuseReportTest, TextOfThreadSanitizerHasTheFunctionOfLibcAsAFrame) {
  const std::string text = RenderMisuse(TextForm::kTsan, Destroyed(), Colour::kNo);
  EXPECT_THAT(text,
              HasSubstr("WARNING: ThreadSanitizer: destroy of a locked mutex (pid=77)\n    #0 pthread_mutex_destroy"));
  EXPECT_THAT(text, HasSubstr("    #1 Close() /src/a.cc:12"));
  EXPECT_THAT(text, HasSubstr("  and:\n    #0 Open()"));
  EXPECT_THAT(text, HasSubstr("  Mutex M0 (0x000000007000) created at:\n    #0 main"));
  EXPECT_THAT(text, HasSubstr("SUMMARY: ThreadSanitizer: destroy of a locked mutex /src/a.cc:12 in Close()"));
}

TEST(MisuseReportTest, NamesCannotCommandATerminal) {
  MisuseReport report = Destroyed();
  report.where.front().function = "evil\033[2J";
  EXPECT_THAT(RenderMisuse(TextForm::kShort, report, Colour::kNo), Not(HasSubstr("\033")));
  EXPECT_THAT(RenderMisuse(TextForm::kTsan, report, Colour::kNo), Not(HasSubstr("\033")));
}

TEST(MisuseReportTest, JsonHasAllOfIt) {
  const auto json = MisuseToJson(Destroyed());
  EXPECT_EQ(json["kind"], "misuse");
  EXPECT_EQ(json["category"], "mutex");
  EXPECT_EQ(json["stack"][0]["line"], 12);
  EXPECT_EQ(json["taken_at"][0]["function"], "Open()");
}

}  // namespace
}  // namespace redflag
