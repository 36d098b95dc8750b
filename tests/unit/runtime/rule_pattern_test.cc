#include "runtime/rule_pattern.h"

#include <gtest/gtest.h>

namespace redflag::rt {
namespace {

TEST(RulePatternTest, IsFoundAnywhere) {
  EXPECT_TRUE(MatchesRule("libx", "/usr/lib/libx.so.1"));
  EXPECT_TRUE(MatchesRule("", "/usr/lib/libx.so.1"));
  EXPECT_FALSE(MatchesRule("liby", "/usr/lib/libx.so.1"));
  EXPECT_FALSE(MatchesRule("libx.so.10", "/usr/lib/libx.so.1"));
}

TEST(RulePatternTest, AStarIsAnything) {
  EXPECT_TRUE(MatchesRule("lib*.so", "/usr/lib/libx.so.1"));
  EXPECT_TRUE(MatchesRule("/usr/*x*1", "/usr/lib/libx.so.1"));
  EXPECT_TRUE(MatchesRule("*libx*", "libx"));
  EXPECT_FALSE(MatchesRule("so*lib*x", "/usr/lib/libx.so.1"));
}

TEST(RulePatternTest, IsTiedToTheBeginning) {
  EXPECT_TRUE(MatchesRule("^/usr", "/usr/lib/libx.so"));
  EXPECT_FALSE(MatchesRule("^usr", "/usr/lib/libx.so"));
  EXPECT_TRUE(MatchesRule("^*libx", "/usr/lib/libx.so"));
}

TEST(RulePatternTest, IsTiedToTheEnd) {
  EXPECT_TRUE(MatchesRule("libx.so$", "/usr/lib/libx.so"));
  EXPECT_FALSE(MatchesRule("libx.so$", "/usr/lib/libx.so.1"));
  EXPECT_TRUE(MatchesRule("x$", "axbxcx"));  // the last one, not the first
  EXPECT_TRUE(MatchesRule("a*x$", "axbxcx"));
  EXPECT_TRUE(MatchesRule("^libx.so$", "libx.so"));
  EXPECT_FALSE(MatchesRule("^libx.so$", "libx.so.libx.so"));
  EXPECT_TRUE(MatchesRule("^lib*so$", "libx.so.libx.so"));
}

}  // namespace
}  // namespace redflag::rt
