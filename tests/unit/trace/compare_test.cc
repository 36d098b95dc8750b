#include "trace/compare.h"

#include <gtest/gtest.h>

#include <string_view>
#include <utility>
#include <variant>

#include "trace/text_reader.h"

namespace redflag {
namespace {

Trace Read(std::string_view text, std::string_view name = "t") {
  return std::get<Trace>(ReadTextTraceFromString(text, name));
}

TEST(CompareTest, DifferencesAreFound) {
  const char* text = "threads A B\nA lock m\nA write x @f:1 !race(hb)\nA enter f\nA name \"n\"";
  Trace trace = Read(text);
  EXPECT_EQ(FirstDifference(trace, Read(text)), std::nullopt);
  auto difference = [&](std::string_view other) { return FirstDifference(trace, Read(other)).value_or("none"); };
  EXPECT_EQ(difference("threads A C\nA lock m\nA write x @f:1 !race(hb)\nA enter f\nA name \"n\""),
            "initial threads: number 1 differs");
  EXPECT_EQ(difference("threads A B\nB lock m\nA write x @f:1 !race(hb)\nA enter f\nA name \"n\""),
            "events: number 0 differs");
  EXPECT_EQ(difference("threads A B\nA lock n\nA write x @f:1 !race(hb)\nA enter f\nA name \"n\""),
            "events: number 0 differs");
  EXPECT_EQ(difference("threads A B\nA lock m\nA write x @f:2 !race(hb)\nA enter f\nA name \"n\""),
            "events: number 1 differs");
  EXPECT_EQ(difference("threads A B\nA lock m\nA write x:4 @f:1 !race(hb)\nA enter f\nA name \"n\""),
            "events: number 1 differs");
  EXPECT_EQ(difference("threads A B\nA lock m\nA write x @f:1 !race(hb)\nA enter g\nA name \"n\""),
            "events: number 2 differs");
  EXPECT_EQ(difference("threads A B\nA lock m\nA write x @f:1 !race(hb)\nA enter f\nA name \"k\""),
            "events: number 3 differs");
  EXPECT_EQ(difference("threads A B\nA lock m\nA write x @f:1 !race(hb)\nA enter f"), "4 events against 3");
  EXPECT_EQ(difference("threads A B\nA lock m\nA write y @f:1 !race(hb)\nA enter f\nA name \"n\""),
            "ranges: number 0 differs");
  EXPECT_EQ(difference("threads A B\nA lock m\nA write x @f:1 !norace(hb)\nA enter f\nA name \"n\""),
            "expectations: number 0 differs");
}

TEST(CompareTest, NumbersOfNamesFilesAndLinesDoNotCount) {
  Trace trace = Read("threads A B\nA lock m @f:1\nA lock n @f:2", "one");
  Trace other = Read("threads A B\n\n\nA lock m @f:1\nA lock n @f:2", "two");
  std::swap(other.syncs[0], other.syncs[1]);
  for (Event& event : other.events) event.object = 1 - event.object;
  other.events[1].position = kNoPosition;
  EXPECT_EQ(FirstDifference(trace, other), std::nullopt);
  std::swap(other.syncs[0], other.syncs[1]);
  EXPECT_EQ(FirstDifference(trace, other), "events: number 0 differs");
}

}  // namespace
}  // namespace redflag
