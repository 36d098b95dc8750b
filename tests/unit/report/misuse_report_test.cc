#include "report/misuse_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "report/editor.h"
#include "report/github.h"
#include "report/json_reader.h"
#include "report/records.h"
#include "report/sarif.h"

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

MisuseReport Deadlock() {
  MisuseReport report;
  report.title = "lock-order-inversion (potential deadlock)";
  report.category = "deadlock";
  report.thread = "T1";
  report.where = {{.function = "Withdraw()", .file = "/src/a.cc", .line = 12, .called = "pthread_mutex_lock"}};
  report.mutex = "a.lock";
  report.addr = Addr{0x7000};
  const auto lock = [](const char* name, uint64_t addr, const char* function, uint32_t line) {
    return HeldLockInfo{.name = name,
                        .mode = LockMode::kExclusive,
                        .taken_at = {{.function = function, .file = "/src/a.cc", .line = line}},
                        .addr = Addr{addr}};
  };
  report.cycle = {{.thread = "main",
                   .held = lock("a.lock", 0x7000, "Open()", 29),
                   .wanted = lock("b.lock", 0x7040, "Deposit()", 30)},
                  {.thread = "T1",
                   .held = lock("b.lock", 0x7040, "Lend()", 11),
                   .wanted = lock("a.lock", 0x7000, "Withdraw()", 12)}};
  report.threads.emplace_back().name = "T1";
  report.threads.back().creator = "main";
  report.threads.back().created_at = {{.function = "main", .file = "/src/a.cc", .line = 40}};
  report.command = "./bank";
  report.pid = 77;
  return report;
}

TEST(MisuseReportTest, OurTextOfADeadlockHasBothPlacesOfEachThread) {
  const std::string text = RenderMisuse(TextForm::kShort, Deadlock(), Colour::kNo);
  EXPECT_THAT(text, HasSubstr("DEADLOCK is possible: a.lock -> b.lock -> a.lock\n"));
  EXPECT_THAT(text, HasSubstr("thread main wanted b.lock while it held a.lock:\n      Deposit() /src/a.cc:30\n"
                              "    a.lock was taken at:\n      Open() /src/a.cc:29\n"));
  EXPECT_THAT(text, HasSubstr("thread T1 wanted a.lock while it held b.lock:\n      Withdraw() /src/a.cc:12\n"));
}

TEST(MisuseReportTest, ThreadSanitizersTextOfADeadlockHasTheCycle) {
  MisuseReport report = Deadlock();
  const std::string text = RenderMisuse(TextForm::kTsan, report, Colour::kNo);
  EXPECT_THAT(text, HasSubstr("  Cycle in lock order graph: M0 (0x000000007000) => M1 (0x000000007040) => M0\n\n"));
  EXPECT_THAT(text, HasSubstr("  Mutex M1 acquired here while holding mutex M0 in main thread:\n    #0 Deposit()"));
  EXPECT_THAT(text, HasSubstr("  Mutex M0 previously acquired by the same thread here:\n    #0 Open()"));
  EXPECT_THAT(text, HasSubstr("  Mutex M0 acquired here while holding mutex M1 in thread T1:\n"));
  EXPECT_THAT(text, Not(HasSubstr("Hint")));
  for (WaiterInfo& waiter : report.cycle) waiter.held.taken_at.clear();
  EXPECT_THAT(RenderMisuse(TextForm::kTsan, report, Colour::kNo),
              HasSubstr("    Hint: use TSAN_OPTIONS=second_deadlock_stack=1"));
}

TEST(MisuseReportTest, JsonCanBeReadBack) {
  for (const MisuseReport& report : {Deadlock(), Destroyed()}) {
    const auto json = MisuseToJson(report);
    const auto read = MisuseFromJson(nlohmann::json::parse(json.dump()));
    ASSERT_TRUE(std::holds_alternative<MisuseReport>(read)) << std::get<std::string>(read);
    EXPECT_EQ(MisuseToJson(std::get<MisuseReport>(read)), json);
  }
  EXPECT_EQ(std::get<std::string>(MisuseFromJson(nlohmann::json::parse(R"({"kind": "misuse", "title": 3})"))),
            "title: a string was expected");
}

TEST(MisuseReportTest, SavedOnesAreKeptOnceEach) {
  const std::string line = MisuseToJson(Deadlock()).dump() + "\n";
  std::istringstream in(line + line + MisuseToJson(Destroyed()).dump() + "\n");
  Records records;
  records.Read(in, "x");
  EXPECT_TRUE(records.complaints().empty());
  EXPECT_EQ(records.TakeMisuses().size(), 2u);
}

TEST(MisuseReportTest, EditorsAndCodeHostsGetEachPlace) {
  const SourceRoot root("/src");
  const std::string editor = RenderEditor(Deadlock(), root);
  EXPECT_THAT(editor, HasSubstr("a.cc:12: warning: lock-order-inversion (potential deadlock): a.lock, b.lock\n"));
  EXPECT_THAT(editor, HasSubstr("a.cc:29: note: a.lock was taken here\n"));
  const std::string github = RenderGithub(Deadlock(), root);
  EXPECT_THAT(
      github,
      HasSubstr("::warning file=a.cc,line=12,title=lock-order-inversion (potential deadlock)%3A a.lock%2C b.lock::"));
  EXPECT_THAT(github, HasSubstr("%0Aa.cc:30: thread main wanted b.lock while it held a.lock"));
  const auto sarif = nlohmann::json::parse(RenderSarif({}, {Deadlock(), Destroyed()}, root, "1.2.3"));
  const auto& run = sarif["runs"][0];
  for (const auto& result : run["results"]) {
    EXPECT_EQ(run["tool"]["driver"]["rules"][result["ruleIndex"].get<size_t>()]["id"], result["ruleId"]);
  }
  EXPECT_EQ(run["results"][0]["ruleId"], "lock-order-inversion");
  EXPECT_EQ(run["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"], 12);
  EXPECT_EQ(run["results"][0]["relatedLocations"].size(), 5u);
  EXPECT_EQ(run["results"][1]["ruleId"], "mutex-misuse");
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
