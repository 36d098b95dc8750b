#include "clocks/last_commits.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

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
        Tid{1}, footprint, 1, [&](uint64_t commit) { number = commit; }, [](uint64_t, uint64_t) {},
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
  commits_.Add(
      Tid{1}, nullptr, 0, [&](uint64_t) { ADD_FAILURE(); }, [&](uint64_t, uint64_t) { ADD_FAILURE(); },
      [&](uint64_t) { ADD_FAILURE(); });
}

// By reads: which numbers a commit that only writes makes, and what they stand for.
TEST_F(LastCommitsTest, ByReadsACommitThatOnlyWritesStandsForTheOneBeforeToo) {
  commits_.OrderByReads();
  const Footprint written[] = {{.addr = Addr{0x1000}, .size = 2, .kind = AccessKind::kWrite}};
  const Footprint read[] = {{.addr = Addr{0x1000}, .size = 2, .kind = AccessKind::kRead}, written[0]};
  std::vector<std::pair<uint64_t, uint64_t>> joined;
  Numbers born;
  const auto commit = [&](Tid author, const Footprint* footprint, size_t count) {
    joined.clear();
    born.clear();
    Numbers seen;
    commits_.ForEach(footprint, count, [&](uint64_t number, Tid) { seen.insert(number); });
    commits_.Add(
        author, footprint, count, [&](uint64_t number) { born.insert(number); },
        [&](uint64_t earlier, uint64_t number) { joined.emplace_back(earlier, number); },
        [&](uint64_t number) { dead_.insert(number); });
    return seen;
  };
  EXPECT_EQ(commit(Tid{1}, written, 1), Numbers{});
  EXPECT_EQ(born.size(), 1u);
  const uint64_t first = *born.begin();
  EXPECT_EQ(commit(Tid{1}, written, 1), Numbers{});
  EXPECT_TRUE(joined.empty()) << "it comes after its own";
  const uint64_t second = *born.begin();
  EXPECT_EQ(dead_, Numbers{first});
  EXPECT_EQ(commit(Tid{2}, written, 1), Numbers{});
  EXPECT_EQ(joined.size(), 2u) << "one for each byte";
  for (const auto& [earlier, number] : joined) EXPECT_EQ(earlier, second);
  const Numbers both = born;
  EXPECT_EQ(commit(Tid{3}, read, 2), both);
  EXPECT_TRUE(joined.empty()) << "it has read them";
  EXPECT_EQ(born.size(), 1u);
}

}  // namespace
}  // namespace redflag
