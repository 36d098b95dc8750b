#include "base/vector.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace redflag {
namespace {

TEST(VectorTest, BehavesLikeTheStandardVectorUnderRandomUse) {
  Arena<PlainMem> arena;
  {
    Vector<int, PlainMem> vector(arena);
    std::vector<int> model;
    std::mt19937 random(3);
    for (int i = 0; i < 20'000; ++i) {
      const size_t at = model.empty() ? 0 : random() % model.size();
      if (model.empty() || random() % 2 == 0) {
        vector.Insert(at, i);
        model.insert(model.begin() + static_cast<std::ptrdiff_t>(at), i);
      } else {
        vector.Remove(at);
        model.erase(model.begin() + static_cast<std::ptrdiff_t>(at));
      }
      ASSERT_TRUE(std::equal(vector.begin(), vector.end(), model.begin(), model.end()));
    }
  }
  EXPECT_EQ(arena.in_use(), 0u);
}

}  // namespace
}  // namespace redflag
