#include "clocks/last_commits.h"

#include <gtest/gtest.h>

#include <set>

#include "base/mem.h"

namespace redflag {
namespace {

class LastCommitsTest : public testing::Test {
 protected:
  using Numbers = std::set<uint64_t>;

  uint64_t Commit(uint64_t addr, uint64_t size) {
    const Footprint footprint[] = {{.addr = Addr{addr}, .size = size}};
    uint64_t number = 0;
    commits_.Add(
        Tid{1}, footprint, 1, [&](uint64_t commit) { number = commit; },
        [&](uint64_t commit) { dead_.insert(commit); });
    return number;
  }
  Numbers Earlier(uint64_t addr, uint64_t size) {
    const Footprint footprint[] = {{.addr = Addr{addr}, .size = size}};
    Numbers numbers;
    commits_.ForEach(footprint, 1,
                     [&](uint64_t commit, Tid) { EXPECT_TRUE(numbers.insert(commit).second) << "each is shown once"; });
    return numbers;
  }
  void Forget(uint64_t addr, uint64_t size) {
    commits_.Forget(Addr{addr}, size, [&](uint64_t commit) { dead_.insert(commit); });
  }

  Arena<PlainMem> arena_;
  LastCommits<PlainMem> commits_{arena_};
  Numbers dead_;
};

TEST_F(LastCommitsTest, TheLatestCommitOfEachByteIsFound) {
  const uint64_t a = Commit(0x1000, 8);
  const uint64_t b = Commit(0x1006, 4);
  EXPECT_EQ(Earlier(0x1000, 4), (Numbers{a}));
  EXPECT_EQ(Earlier(0x1004, 32), (Numbers{a, b}));
  EXPECT_EQ(Earlier(0x100a, 8), (Numbers{}));
}

TEST_F(LastCommitsTest, ACommitDiesWithItsLastByte) {
  const uint64_t a = Commit(0x1000, 8);
  Commit(0x1000, 4);
  EXPECT_EQ(dead_, (Numbers{}));
  Commit(0x1004, 4);
  EXPECT_EQ(dead_, (Numbers{a}));
}

TEST_F(LastCommitsTest, ALifetimeForgetsItsBytesOnly) {
  const uint64_t a = Commit(0x1000, 64);
  Forget(0x1000, 60);
  EXPECT_EQ(dead_, (Numbers{}));
  EXPECT_EQ(Earlier(0x1000, 60), (Numbers{}));
  EXPECT_EQ(Earlier(0x103b, 2), (Numbers{a}));
  Forget(0x0, 1 << 20);
  EXPECT_EQ(dead_, (Numbers{a}));
  EXPECT_EQ(Earlier(0x1000, 64), (Numbers{}));
}

TEST_F(LastCommitsTest, AnEmptyFootprintIsNoCommit) {
  commits_.Add(Tid{1}, nullptr, 0, [&](uint64_t) { ADD_FAILURE(); }, [&](uint64_t) { ADD_FAILURE(); });
}

}  // namespace
}  // namespace redflag
