#include "runtime/context_tree.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace redflag::rt {
namespace {

class ContextTreeTest : public testing::Test {
 protected:
  ContextTreeTest() { tree_.Start(); }
  std::vector<std::pair<ContextId, ByteMask>> SourcesOf(ContextId id, ByteMask bytes) const {
    std::vector<std::pair<ContextId, ByteMask>> sources;
    tree_.ForEachSource(id, bytes, [&](ContextId source, ByteMask part) { sources.emplace_back(source, part); });
    return sources;
  }
  ContextTree tree_;
};

TEST_F(ContextTreeTest, TheSameStackIsTheSameNode) {
  const ContextId main = tree_.Child(kNoContext, 0x1000);
  const ContextId work = tree_.Child(main, 0x2000);
  EXPECT_EQ(tree_.Child(main, 0x2000), work);
  EXPECT_NE(tree_.Child(kNoContext, 0x2000), work);
  EXPECT_EQ(tree_.PlaceOf(work), 0x2000u);
  EXPECT_EQ(tree_.CallerOf(work), main);
}

TEST_F(ContextTreeTest, LocksAreApartFromCalls) {
  const ContextId calls = tree_.Child(kNoContext, 0x1000);
  const ContextId chain = tree_.Child(kNoContext, ContextTree::Held(calls));
  const ContextId under = tree_.Child(calls, ContextTree::Under(chain));
  EXPECT_EQ(tree_.PartsOf(under).calls, calls);
  EXPECT_EQ(tree_.PartsOf(under).chain, chain);
  EXPECT_EQ(tree_.PartsOf(calls).chain, kNoContext);
}

// Either side of a mixed context may itself be one: each byte has the latest that names it.
TEST_F(ContextTreeTest, MixedContextsAreTakenApart) {
  const ContextId a = tree_.Child(kNoContext, 0x1000);
  const ContextId b = tree_.Child(kNoContext, 0x2000);
  const ContextId c = tree_.Child(kNoContext, 0x3000);
  const ContextId a_b = tree_.Child(a, ContextTree::Mixed(b, ByteMask{0x0c}));        // a: 03, b: 0c
  const ContextId c_a_b = tree_.Child(c, ContextTree::Mixed(a_b, ByteMask{0x0f}));    // and c: f0
  const ContextId outer = tree_.Child(c_a_b, ContextTree::Mixed(c, ByteMask{0x01}));  // byte 0 anew
  const std::vector<std::pair<ContextId, ByteMask>> expected = {
      {c, ByteMask{0x01}}, {b, ByteMask{0x0c}}, {a, ByteMask{0x02}}, {c, ByteMask{0xf0}}};
  EXPECT_EQ(SourcesOf(outer, kAllBytes), expected);
  const std::vector<std::pair<ContextId, ByteMask>> of_two = {{b, ByteMask{0x04}}, {c, ByteMask{0x10}}};
  EXPECT_EQ(SourcesOf(outer, ByteMask{0x14}), of_two);
}

}  // namespace
}  // namespace redflag::rt
