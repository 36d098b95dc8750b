#include "report/github.h"

#include <gtest/gtest.h>

#include "tests/unit/report/reports.h"

namespace redflag {
namespace {

TEST(GithubTest, IsOneCommandWithThePlaceBelowTheRoot) {
  EXPECT_EQ(
      RenderGithub(FullReport(), SourceRoot("/src/app")),
      "::error file=cache.cc,line=13,col=5,title=Data race on Cache%3A%3Asize+8::write of 8 bytes by thread T1 in "
      "Cache::Add(int), holding Cache::mu%0Aearlier atomic read of 8 bytes by thread main in main at main "
      "file.cc:40:9%0Awhy: nothing orders them%0Aseen: 3 of 4 accesses hold Cache::mu%0Aconfirmed by hybrid%0Apattern: "
      "lock missing on one "
      "side%0Asuggestion: hold Cache::mu in "
      "main too\n");
}

TEST(GithubTest, TheRankIsTheLevel) {
  RaceReport report = FullReport();
  report.judgement->rank = Judgement::Rank::kMedium;
  EXPECT_TRUE(RenderGithub(report, SourceRoot("")).starts_with("::warning file=/src/app/cache.cc,"));
  report.judgement->rank = Judgement::Rank::kLow;
  EXPECT_TRUE(RenderGithub(report, SourceRoot("")).starts_with("::notice "));
  report.judgement.reset();
  EXPECT_TRUE(RenderGithub(report, SourceRoot("")).starts_with("::warning "));
}

TEST(GithubTest, NothingInANameEndsTheCommandOrAProperty) {
  RaceReport report = FullReport();
  report.variable = "a,b:c%d\ne";
  report.offset = 0;
  report.access.stack = {FrameAt("f", "/src/x,y:1%\r.cc", 3)};
  const std::string text = RenderGithub(report, SourceRoot("/src"));
  EXPECT_TRUE(text.starts_with("::error file=x%2Cy%3A1%25%0D.cc,line=3,title=Data race on a%2Cb%3Ac%25d%0Ae::"))
      << text;
  EXPECT_EQ(text.find('\n'), text.size() - 1);
}

TEST(GithubTest, WithoutSourceThereIsNoPlace) {
  RaceReport report = FullReport();
  report.access.stack.clear();
  EXPECT_TRUE(RenderGithub(report, SourceRoot("")).starts_with("::error title=Data race on "));
}

}  // namespace
}  // namespace redflag
