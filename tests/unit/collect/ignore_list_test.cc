#include "collect/ignore_list.h"

#include <gtest/gtest.h>

namespace redflag {
namespace {

TEST(IgnoreList, FilesAreFoundByAPartOfTheirNamesUnlessThatIsTied) {
  EXPECT_EQ(ClangIgnoreListOf("src:third_party/").text, "src:*third_party/*\n");
  EXPECT_EQ(ClangIgnoreListOf("file:^/src/a.cc$").text, "src:/src/a.cc\n");
}

TEST(IgnoreList, FunctionsHaveTheNamesOfTheLinker) {
  const std::string text = ClangIgnoreListOf("fun:^ns::Box::Put$").text;
  EXPECT_NE(text.find("fun:_ZN2ns3Box3PutE*\n"), std::string::npos) << text;
  EXPECT_NE(text.find("fun:_ZNK2ns3Box3PutE*\n"), std::string::npos) << text;
  EXPECT_NE(text.find("fun:_ZN12_GLOBAL__N_12ns3Box3PutE*\n"), std::string::npos) << text;
  const std::string plain = ClangIgnoreListOf("function:Put").text;
  EXPECT_NE(plain.find("fun:Put\n"), std::string::npos) << plain;
  EXPECT_NE(plain.find("fun:_Z3Put*\n"), std::string::npos) << plain;
  EXPECT_EQ(plain.find("fun:*"), std::string::npos) << "more than the rule names";
}

TEST(IgnoreList, WhatClangHasNoWordsForIsLeftToTheRun) {
  const ClangIgnoreList list = ClangIgnoreListOf("fun:Put*\nfun_r:Tree\nrace:Other\nobj:libx\nlock:Lock");
  EXPECT_EQ(list.text, "");
  ASSERT_EQ(list.problems.size(), 1u);
  EXPECT_NE(list.problems[0].find("fun:Put*"), std::string::npos);
}

TEST(IgnoreList, WhatIsWrongIsTold) { EXPECT_EQ(ClangIgnoreListOf("nonsense").problems.size(), 1u); }

}  // namespace
}  // namespace redflag
