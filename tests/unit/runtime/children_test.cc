#include "runtime/children.h"

#include <gtest/gtest.h>

namespace redflag::hooks {
namespace {

constexpr uintptr_t kHandle = 0x1000, kOther = 0x2000;

TEST(ChildrenTest, AreFoundByHandleOnceTheyHaveOne) {
  Children children;
  Child child{.thread = nullptr};
  children.Add(&child);
  EXPECT_EQ(children.Find(kHandle), nullptr);
  children.Name(&child, kHandle);
  EXPECT_EQ(children.Find(kHandle), &child);
  EXPECT_EQ(children.Find(kOther), nullptr);
  children.Remove(&child);
  EXPECT_EQ(children.Find(kHandle), nullptr);
}

// Two creators: what the first prepares comes late, after the other's thread was born, has ended and was joined. That joiner has not come back yet.
TEST(ChildrenTest, AHandleMeansTheLastThatGotIt) {
  Children children;
  Child late{.thread = nullptr}, early{.thread = nullptr};
  children.Add(&late);
  children.Add(&early);
  children.Name(&early, kHandle);
  early.ended = true;
  EXPECT_EQ(children.Find(kHandle), &early);
  children.Name(&late, kHandle);
  EXPECT_EQ(children.Find(kHandle), &late);
  late.ended = true;
  EXPECT_EQ(children.Find(kHandle), &late);
  children.Remove(&early);
  EXPECT_EQ(children.Find(kHandle), &late);
  children.Remove(&late);
  EXPECT_EQ(children.Find(kHandle), nullptr);
}

TEST(ChildrenTest, AllAreVisitedOnce) {
  Children children;
  Child all[3] = {{.thread = nullptr}, {.thread = nullptr}, {.thread = nullptr}};
  for (Child& child : all) children.Add(&child);
  children.Name(&all[1], kHandle);
  int seen = 0;
  children.ForEach([&](const Child&) { ++seen; });
  EXPECT_EQ(seen, 3);
  children.Clear([&](Child*) { --seen; });
  EXPECT_EQ(seen, 0);
  EXPECT_EQ(children.Find(kHandle), nullptr);
}

}  // namespace
}  // namespace redflag::hooks
