#include "report/frames.h"

#include <gtest/gtest.h>

#include "tests/unit/report/reports.h"

namespace redflag {
namespace {

TEST(SourceRootTest, FilesBelowItAreRelative) {
  const SourceRoot root("/src/app");
  EXPECT_EQ(root.folder(), "/src/app/");
  EXPECT_EQ(root.NameOf("/src/app/x/./y/../z.cc"), "x/z.cc");
  EXPECT_EQ(root.NameOf("/src/application/z.cc"), "/src/application/z.cc");
  EXPECT_EQ(root.NameOf("z.cc"), "z.cc");
  EXPECT_EQ(SourceRoot("").NameOf("/a/z.cc"), "/a/z.cc");
}

}  // namespace
}  // namespace redflag
