#include "report/patterns.h"

#include <gtest/gtest.h>

namespace redflag {
namespace {

// What is recognised when is in judgement_test.cc, where it shows.

TEST(PatternsTest, AreFoundByName) {
  EXPECT_EQ(PatternByName("no such pattern"), nullptr);
  ASSERT_NE(PatternByName("lost update"), nullptr);
  EXPECT_EQ(PatternByName("lost update")->harm, Harm::kHarmful);
  EXPECT_FALSE(PatternByName("lost update")->suggestion.empty());
}

TEST(PatternsTest, OnlyDataCollidersClassesAreBenign) {
  for (const char* name : {"statistics counter", "safe flag update", "special variable"}) {
    EXPECT_EQ(PatternByName(name)->harm, Harm::kBenign) << name;
  }
  for (const char* name :
       {"flag updates overwrite each other", "reference count", "double-checked locking", "lazy initialisation"}) {
    EXPECT_EQ(PatternByName(name)->harm, Harm::kHarmful) << name;
  }
}

TEST(PatternsTest, ARaceWithOneSideHasNone) {
  SourceFiles source;
  EXPECT_EQ(FindPattern(RaceReport{}, source), nullptr);
}

}  // namespace
}  // namespace redflag
