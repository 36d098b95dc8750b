#include "report/frames.h"

#include <gtest/gtest.h>

#include "tests/unit/report/reports.h"

namespace redflag {
namespace {

TEST(FramesTest, LibrariesAndTheSystemAreNotOwnCode) {
  EXPECT_TRUE(IsOwnCode(FrameAt("main", "/home/me/a.cc", 1)));
  EXPECT_TRUE(IsOwnCode(FrameAt("main", "a.cc", 1)));
  EXPECT_FALSE(IsOwnCode(FrameAt("f", "/usr/include/c++/12/thread", 1)));
  EXPECT_FALSE(IsOwnCode(FrameAt("std::thread::join()", "thread.cc", 1)));
  EXPECT_FALSE(IsOwnCode(FrameAt("_start", "", 0)));
  EXPECT_FALSE(IsOwnCode(Frame{.function = "clone", .file = "", .module = "/lib/x86_64-linux-gnu/libc.so.6"}));
  EXPECT_TRUE(IsOwnCode(Frame{.function = "", .file = "", .module = "/opt/app"}));
  EXPECT_FALSE(IsOwnCode(Frame{.function = "", .file = "", .offset = 0x1234}));
}

TEST(FramesTest, TheInnermostOwnFrameMatters) {
  const std::vector<Frame> stack = {FrameAt("std::sort()", "/usr/include/x", 1), FrameAt("f", "a.cc", 2),
                                    FrameAt("main", "a.cc", 3)};
  EXPECT_EQ(FrameThatMatters(stack), &stack[1]);
  const std::vector<Frame> foreign = {FrameAt("std::sort()", "/usr/include/x", 1)};
  EXPECT_EQ(FrameThatMatters(foreign), &foreign[0]);
  EXPECT_EQ(FrameThatMatters({}), nullptr);
}

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
