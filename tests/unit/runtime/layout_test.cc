#include "runtime/layout.h"

#include <gtest/gtest.h>

namespace redflag::rt {
namespace {

TEST(LayoutTest, TheUsualOnesFoldApart) {
  const Layout usual[] = {
      // Position-independent, with and without randomization; not position-independent; arm64.
      {.image = 0x55d0'1234'0040,
       .heap_end = 0x55d0'2234'0000,
       .libraries = 0x7f12'3456'7000,
       .stack = 0x7ffd'1234'5ff0},
      {.image = 0x5555'5555'4040,
       .heap_end = 0x5555'5557'a000,
       .libraries = 0x7fff'f7fb'0000,
       .stack = 0x7fff'ffff'efe0},
      {.image = 0x40'0040, .heap_end = 0x42'5000, .libraries = 0x7fff'f7fb'0000, .stack = 0x7fff'ffff'efe0},
      {.image = 0x40'0040, .heap_end = 0x1f2'5000, .libraries = 0x7fa0'f7fb'0000, .stack = 0x7ffc'0fff'efe0},
      {.image = 0xaaaa'c0de'0040,
       .heap_end = 0xaaab'1234'0000,
       .libraries = 0xffff'a000'0000,
       .stack = 0xffff'f000'0ff0},
  };
  for (const Layout& layout : usual) EXPECT_TRUE(layout.FoldsApart()) << std::hex << layout.image;
}

TEST(LayoutTest, PartsThatWouldShareAreSeen) {
  const Layout usual = {.image = 0x55d0'1234'0040,
                        .heap_end = 0x55d0'2234'0000,
                        .libraries = 0x7f12'3456'7000,
                        .stack = 0x7ffd'1234'5ff0};
  Layout layout = usual;
  layout.libraries = 0x75d0'2000'0000;  // folds to where the program is
  EXPECT_FALSE(layout.FoldsApart());
  layout = usual;
  layout.libraries = 0x75f0'0000'0000;  // a little above: the two would grow into each other
  EXPECT_FALSE(layout.FoldsApart());
  layout = usual;
  layout.image = 0x5ffd'1234'0040;  // below the stack
  layout.heap_end = 0x5ffd'2000'0000;
  EXPECT_FALSE(layout.FoldsApart());
  layout = usual;
  layout.libraries = 0x6ffd'1000'0000;  // far below the stack, and folds to it
  EXPECT_FALSE(layout.FoldsApart());
}

TEST(LayoutTest, ThisProcessIsSomewhere) {
  const Layout layout = CurrentLayout();
  EXPECT_NE(layout.image, 0u);
  EXPECT_NE(layout.stack, 0u);
  EXPECT_GE(layout.heap_end, layout.image);
}

}  // namespace
}  // namespace redflag::rt
