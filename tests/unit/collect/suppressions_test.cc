#include "collect/suppressions.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

namespace redflag {
namespace {

RaceReport Race() {
  RaceReport report;
  report.variable = "cache";
  report.access.stack = {
      {.function = "lib::Put(int) const", .file = "/src/lib/put.cc", .line = 3, .module = "/lib/x.so"},
      {.function = "main", .file = "/src/main.cc", .line = 9, .module = "/bin/y"}};
  report.earlier.resize(1);
  report.earlier[0].stack = {{.function = "lib::Get()", .file = "/src/lib/get.cc", .line = 4}};
  return report;
}

bool Suppressed(const std::string& text) {
  Suppressions suppressions;
  EXPECT_TRUE(suppressions.Add(text).empty()) << text;
  return suppressions.Match(Race());
}

TEST(SuppressionsTest, AFunctionAFileAModuleOrAVariableOfEitherSideMatches) {
  EXPECT_TRUE(Suppressed("race:lib::Put"));
  EXPECT_TRUE(Suppressed("race:lib/get.cc"));
  EXPECT_TRUE(Suppressed("race:/lib/x.so"));
  EXPECT_TRUE(Suppressed("race:cache"));
  EXPECT_TRUE(Suppressed("# known\n\n  race:nothing\nrace: main\r\n"));
  EXPECT_FALSE(Suppressed("race:Fetch"));
  EXPECT_FALSE(Suppressed(""));
}

TEST(SuppressionsTest, TopIsTheInnermostFrame) {
  EXPECT_TRUE(Suppressed("race_top:lib::Get"));
  EXPECT_FALSE(Suppressed("race_top:main"));
  EXPECT_FALSE(Suppressed("race_top:cache"));
}

TEST(SuppressionsTest, MisuseHasRulesOfItsOwn) {
  MisuseReport report;
  report.category = "mutex";
  report.where = {{.function = "Close()", .file = "/src/a.cc", .line = 12}};
  const auto suppresses = [&](std::string_view rules) {
    Suppressions suppressions;
    EXPECT_TRUE(suppressions.Add(rules).empty());
    return suppressions.Match(report);
  };
  EXPECT_TRUE(suppresses("mutex:Close"));
  EXPECT_TRUE(suppresses("mutex:a.cc"));
  EXPECT_FALSE(suppresses("mutex:Open"));
  EXPECT_FALSE(suppresses("race:Close\nthread:Close\nsignal:Close"));
  report.category = "thread";
  report.where.clear();
  report.threads.emplace_back().created_at = {{.function = "Start()", .file = "/src/b.cc", .line = 3}};
  EXPECT_TRUE(suppresses("thread:Start"));
  EXPECT_FALSE(suppresses("mutex:Start"));
  Suppressions races;
  EXPECT_TRUE(races.Add("mutex:main").empty());
  EXPECT_FALSE(races.Match(Race()));
}

TEST(SuppressionsTest, ADeadlockIsSuppressedByAnyOfItsThreads) {
  MisuseReport report;
  report.category = "deadlock";
  report.where = {{.function = "Withdraw()", .file = "/src/a.cc", .line = 12}};
  report.cycle.resize(2);
  report.cycle[0].wanted.taken_at = {{.function = "Deposit()", .file = "/src/a.cc", .line = 30}};
  report.cycle[0].held.taken_at = {{.function = "Open()", .file = "/src/a.cc", .line = 29}};
  for (const char* rule : {"deadlock:Withdraw", "deadlock:Deposit", "deadlock:Open", "deadlock:a.cc"}) {
    Suppressions suppressions;
    EXPECT_TRUE(suppressions.Add(rule).empty());
    EXPECT_TRUE(suppressions.Match(report)) << rule;
    EXPECT_EQ(suppressions.rules().front().matches, 1u);
  }
  for (const char* rule : {"deadlock:Close", "mutex:Withdraw", "race:Withdraw"}) {
    Suppressions suppressions;
    EXPECT_TRUE(suppressions.Add(rule).empty());
    EXPECT_FALSE(suppressions.Match(report)) << rule;
  }
}

TEST(SuppressionsTest, NonsenseIsComplainedOf) {
  Suppressions suppressions;
  EXPECT_EQ(suppressions.Add("raze:main\nmain\nrace:\n").size(), 3u);
  EXPECT_EQ(suppressions.Add("\n\nraze:main", "a.txt").at(0),
            "a.txt:3: 'raze:main' is no suppression: expected race:PATTERN");
  EXPECT_TRUE(suppressions.rules().empty());
  EXPECT_FALSE(suppressions.Match(Race()));
}

TEST(SuppressionsTest, SeveralFramesFollowEachOther) {
  EXPECT_TRUE(Suppressed("race:lib::Put <- main"));
  EXPECT_FALSE(Suppressed("race:main <- lib::Put"));
  EXPECT_TRUE(Suppressed("race_top:Put <- main"));
  EXPECT_FALSE(Suppressed("race_top:main <- Put"));
  EXPECT_TRUE(Suppressed("race:lib::Put <- ... <- main"));
  EXPECT_TRUE(Suppressed("race:... <- main"));
  EXPECT_FALSE(Suppressed("race:lib::Put <- * <- main"));
  EXPECT_FALSE(Suppressed("race:cache <- main")) << "the variable is no frame";
  RaceReport deep = Race();
  auto& stack = deep.access.stack;
  stack.insert(stack.begin() + 1, 3, Frame{.function = "Middle", .file = "", .line = 0, .column = 0});
  Suppressions suppressions;
  suppressions.Add("race:lib::Put <- Middle <- ... <- Middle <- main");
  EXPECT_TRUE(suppressions.Match(deep));
  EXPECT_EQ(Suppressions().Add("race: <- a").at(0), "'race: <- a': a frame is missing beside <-");
}

TEST(SuppressionsTest, RulesExpireAndThatIsTold) {
  Suppressions suppressions(*ParseDate("2026-03-01"));
  EXPECT_TRUE(suppressions.Add("race:nothing until=2026-03-01").empty());
  EXPECT_EQ(suppressions.Add("race:lib::Put  until=2026-02-28").at(0),
            "'race:lib::Put  until=2026-02-28' has expired and hides nothing any more");
  EXPECT_FALSE(suppressions.Match(Race()));
  EXPECT_EQ(suppressions.Add("race:lib::Put until=2026-02-30").at(0),
            "'race:lib::Put until=2026-02-30': expected until=YYYY-MM-DD");
  EXPECT_TRUE(suppressions.Add("race:lib::Put until=2026-03-01").empty());
  EXPECT_TRUE(suppressions.Match(Race()));
}

TEST(SuppressionsTest, FingerprintsAreWhole) {
  RaceReport race = Race();
  race.fingerprint = "0123456789abcdef";
  Suppressions suppressions;
  EXPECT_EQ(suppressions.Add("fingerprint:0123\nfingerprint:0123456789abcdeg\n").size(), 2u);
  EXPECT_FALSE(suppressions.Match(race));
  EXPECT_TRUE(suppressions.Add("fingerprint:0123456789ABCDEF").empty());
  EXPECT_TRUE(suppressions.Match(race));
}

TEST(SuppressionsTest, VariablesFunctionsTypesFilesAndObjects) {
  EXPECT_TRUE(Suppressed("variable:^cache$"));
  EXPECT_FALSE(Suppressed("variable:main"));
  EXPECT_TRUE(Suppressed("function:lib::Put"));
  EXPECT_FALSE(Suppressed("function:^main$")) << "its callers are not meant";
  EXPECT_TRUE(Suppressed("fun:lib::Get"));
  EXPECT_TRUE(Suppressed("fun_r:^main$"));
  EXPECT_TRUE(Suppressed("type:^lib$"));
  EXPECT_FALSE(Suppressed("type:Put"));
  EXPECT_TRUE(Suppressed("src:lib/get.cc"));
  EXPECT_TRUE(Suppressed("obj:/lib/x.so"));
  EXPECT_TRUE(Suppressed("called_from_lib:x.so"));
  EXPECT_FALSE(Suppressed("called_from_lib:main"));
  EXPECT_FALSE(Suppressed("special:cache")) << "demoted, not hidden";
}

TEST(SuppressionsTest, ModulesDecideWithoutNames) {
  Suppressions suppressions;
  suppressions.Add("race:libfoo.so\ncalled_from_lib:libbar.so\nrace_top:libtop.so\nrace:a <- libchain.so");
  EXPECT_TRUE(suppressions.MatchModules({{"/app"}, {"/app", "/lib/libfoo.so.1"}}));
  EXPECT_TRUE(suppressions.MatchModules({{"/lib/libbar.so", "/app"}}));
  EXPECT_FALSE(suppressions.MatchModules({{"/app", "/lib/libbar.so"}}));
  EXPECT_FALSE(suppressions.MatchModules({{"/app", "/lib/libtop.so"}}));
  EXPECT_FALSE(suppressions.MatchModules({{"/app", "/lib/libchain.so"}, {}}));
}

TEST(SuppressionsTest, UseIsCounted) {
  Suppressions suppressions;
  suppressions.Add("race:nothing\nrace:lib::Put\nspecial:cache");
  EXPECT_TRUE(suppressions.Match(Race()));
  EXPECT_TRUE(suppressions.Match(Race()));
  EXPECT_NE(suppressions.MatchSpecial(Race()), nullptr);
  EXPECT_EQ(suppressions.rules()[0].matches, 0u);
  EXPECT_EQ(suppressions.rules()[1].matches, 2u);
  EXPECT_EQ(suppressions.rules()[2].matches, 1u);
}

TEST(SuppressionsTest, SeveralFilesAreRead) {
  const std::string one = testing::TempDir() + "/one.txt";
  const std::string two = testing::TempDir() + "/two.txt";
  std::ofstream(one) << "race:one\n";
  std::ofstream(two) << "race:two\nnonsense";
  Suppressions suppressions;
  EXPECT_EQ(suppressions.AddFiles(one + ";/no/such/file;" + two),
            (std::vector<std::string>{"cannot read the suppressions in /no/such/file",
                                      two + ":2: 'nonsense' is no suppression: expected race:PATTERN"}));
  EXPECT_EQ(suppressions.rules().size(), 2u);
}

TEST(SuppressionsTest, APatternTiedToTheEndIgnoresParameters) {
  EXPECT_TRUE(Suppressed("race:^lib::Put$"));
  EXPECT_TRUE(Suppressed("race:::Get$"));
  EXPECT_FALSE(Suppressed("race:^Put$"));
}

TEST(SuppressionsTest, FunctionsOfLocksHideNothing) {
  for (const char* type : {"lock", "rdlock", "trylock", "tryrdlock", "unlock"}) {
    EXPECT_FALSE(Suppressed(std::string(type) + ":Put")) << type;
    EXPECT_FALSE(Suppressed(std::string(type) + ":*")) << type;
  }
}

TEST(SuppressionsTest, RulesAboutCodeAreAboutOneFrameByItself) {
  const auto matches = [](const char* rule, const Frame& frame) {
    Suppressions suppressions;
    EXPECT_TRUE(suppressions.Add(rule).empty());
    return MatchesCode(suppressions.rules().front(), frame);
  };
  Frame frame;
  frame.function = "ns::Box::Put(int)";
  frame.file = "/src/box.cc";
  frame.module = "/bin/app";
  for (const char* rule : {"fun:^ns::Box::Put$", "function:Put", "fun_r:Put", "type:^ns::Box$", "src:box.cc$",
                           "obj:app$", "called_from_lib:app", "lock:Put", "unlock:Put"}) {
    EXPECT_TRUE(matches(rule, frame)) << rule;
  }
  for (const char* rule :
       {"fun:box.cc", "type:^Box$", "src:Put", "obj:Put", "lock:box.cc", "race:Put", "variable:Put"}) {
    EXPECT_FALSE(matches(rule, frame)) << rule;
  }
}

TEST(SuppressionsTest, PatternsAreFoundAnywhereUnlessTheyAreTied) {
  EXPECT_TRUE(MatchesPattern("bc", "abcd"));
  EXPECT_TRUE(MatchesPattern("a*d", "abcd"));
  EXPECT_TRUE(MatchesPattern("*", ""));
  EXPECT_TRUE(MatchesPattern("^ab", "abcd"));
  EXPECT_FALSE(MatchesPattern("^bc", "abcd"));
  EXPECT_TRUE(MatchesPattern("cd$", "cdcd"));
  EXPECT_FALSE(MatchesPattern("bc$", "abcd"));
  EXPECT_TRUE(MatchesPattern("^a*d$", "abcd"));
  EXPECT_TRUE(MatchesPattern("^a*", "abcd"));
  EXPECT_TRUE(MatchesPattern("a*$", "abcd"));
  EXPECT_TRUE(MatchesPattern("^abcd$", "abcd"));
  EXPECT_FALSE(MatchesPattern("^abc$", "abcd"));
  EXPECT_FALSE(MatchesPattern("^bcd$", "abcd"));
  EXPECT_TRUE(MatchesPattern("a*b*c", "a1b2c3"));
  EXPECT_FALSE(MatchesPattern("c*b*a", "a1b2c3"));
  EXPECT_FALSE(MatchesPattern("b$c", "abc"));
}

}  // namespace
}  // namespace redflag
