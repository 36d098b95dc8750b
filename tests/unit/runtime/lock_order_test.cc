#include "runtime/lock_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace redflag::rt {
namespace {

constexpr LockMode kWrite = LockMode::kExclusive, kRead = LockMode::kShared;

struct Take {
  uint32_t thread;
  std::vector<std::pair<uint32_t, LockMode>> held;
  uint32_t wanted;
  LockMode mode = kWrite;
  uint32_t step = 0;
};

OrderedLock LockOf(uint32_t name, LockMode mode, uint32_t place) {
  return {.name = SyncId{name}, .mode = mode, .taken_at = ContextId{place}, .address = 0x1000 + 8 * uint64_t{name}};
}

class LockOrderTest : public testing::Test {
 protected:
  // The locks of the cycle that this completes, in order, as "1 2"; empty: none. Every place is another one.
  std::string Add(const Take& take) {
    std::vector<OrderedLock> held;
    for (const auto& [name, mode] : take.held) held.push_back(LockOf(name, mode, ++place_));
    LockOrder::Cycle cycle(arena_);
    if (!order_.Add({Tid{take.thread}, take.step}, LockOf(take.wanted, take.mode, ++place_), held.data(),
                    static_cast<uint32_t>(held.size()), rules_, cycle)) {
      return "";
    }
    std::string text;
    for (size_t i = 0; i < cycle.size(); ++i) {
      EXPECT_EQ(cycle[i].wanted.name, cycle[(i + 1) % cycle.size()].held.name);
      text += (i == 0 ? "" : " ") + std::to_string(Raw(cycle[i].held.name));
    }
    return text;
  }

  Arena<AtomicMem> arena_;
  LockOrder order_{arena_};
  LockOrder::Rules rules_;
  uint32_t place_ = 0;
};

TEST_F(LockOrderTest, TwoThreadsInOppositeOrderAreACycle) {
  EXPECT_EQ(Add({.thread = 1, .held = {{1, kWrite}}, .wanted = 2}), "");
  EXPECT_EQ(Add({.thread = 2, .held = {{2, kWrite}}, .wanted = 1}), "1 2");
}

TEST_F(LockOrderTest, ACycleIsToldOnce) {
  Add({.thread = 1, .held = {{1, kWrite}}, .wanted = 2});
  Add({.thread = 2, .held = {{2, kWrite}}, .wanted = 1});
  EXPECT_EQ(Add({.thread = 3, .held = {{2, kWrite}}, .wanted = 1}), "");
  EXPECT_EQ(Add({.thread = 4, .held = {{1, kWrite}}, .wanted = 2}), "");
}

TEST_F(LockOrderTest, OneThreadDoesNotWaitForItself) {
  Add({.thread = 1, .held = {{1, kWrite}}, .wanted = 2});
  EXPECT_EQ(Add({.thread = 1, .held = {{2, kWrite}}, .wanted = 1}), "");
  EXPECT_EQ(Add({.thread = 2, .held = {{1, kWrite}}, .wanted = 2}), "2 1") << "another one does";
}

TEST_F(LockOrderTest, OfThreeEdgesByTwoThreadsTwoAreOfOneThread) {
  Add({.thread = 1, .held = {{1, kWrite}}, .wanted = 2});
  Add({.thread = 1, .held = {{2, kWrite}}, .wanted = 3});
  EXPECT_EQ(Add({.thread = 2, .held = {{3, kWrite}}, .wanted = 1}), "");
  EXPECT_EQ(Add({.thread = 3, .held = {{2, kWrite}}, .wanted = 3}), "3 1 2");
}

TEST_F(LockOrderTest, ByOrderAloneOneThreadIsEnough) {
  rules_.by_order_alone = true;
  Add({.thread = 1, .held = {{1, kWrite}}, .wanted = 2});
  EXPECT_EQ(Add({.thread = 1, .held = {{2, kWrite}}, .wanted = 1}), "1 2");
}

TEST_F(LockOrderTest, AGateKeepsThemApart) {
  Add({.thread = 1, .held = {{9, kWrite}, {1, kWrite}}, .wanted = 2});
  EXPECT_EQ(Add({.thread = 2, .held = {{9, kWrite}, {2, kWrite}}, .wanted = 1}), "");
  EXPECT_EQ(Add({.thread = 3, .held = {{2, kWrite}}, .wanted = 1}), "1 2") << "without the gate";
}

TEST_F(LockOrderTest, AGateThatBothHoldForReadingKeepsNobodyApart) {
  Add({.thread = 1, .held = {{9, kRead}, {1, kWrite}}, .wanted = 2});
  EXPECT_EQ(Add({.thread = 2, .held = {{9, kRead}, {2, kWrite}}, .wanted = 1}), "1 2");
}

TEST_F(LockOrderTest, AGateOfTwoOfThreeIsEnough) {
  Add({.thread = 1, .held = {{9, kWrite}, {1, kWrite}}, .wanted = 2});
  Add({.thread = 2, .held = {{2, kWrite}}, .wanted = 3});
  EXPECT_EQ(Add({.thread = 3, .held = {{9, kWrite}, {3, kWrite}}, .wanted = 1}), "");
}

TEST_F(LockOrderTest, ReadersDoNotWaitForReaders) {
  Add({.thread = 1, .held = {{1, kRead}}, .wanted = 2, .mode = kRead});
  EXPECT_EQ(Add({.thread = 2, .held = {{2, kRead}}, .wanted = 1, .mode = kRead}), "");
  Add({.thread = 3, .held = {{1, kRead}}, .wanted = 2, .mode = kWrite});
  EXPECT_EQ(Add({.thread = 4, .held = {{2, kRead}}, .wanted = 1, .mode = kWrite}), "1 2");
}

TEST_F(LockOrderTest, LongCyclesAreFound) {
  constexpr uint32_t kLocks = 500;
  for (uint32_t i = 1; i < kLocks; ++i) EXPECT_EQ(Add({.thread = i, .held = {{i, kWrite}}, .wanted = i + 1}), "");
  const std::string cycle = Add({.thread = kLocks, .held = {{kLocks, kWrite}}, .wanted = 1});
  EXPECT_EQ(std::count(cycle.begin(), cycle.end(), ' '), kLocks - 1);
}

TEST_F(LockOrderTest, ManyHeldLocksAreAllConsidered) {
  std::vector<std::pair<uint32_t, LockMode>> held;
  for (uint32_t i = 1; i <= 300; ++i) held.emplace_back(i, kWrite);
  Add({.thread = 1, .held = held, .wanted = 1000});
  EXPECT_EQ(Add({.thread = 2, .held = {{1000, kWrite}}, .wanted = 7}), "7 1000");
}

TEST_F(LockOrderTest, WhatIsGoneOrdersNothing) {
  Add({.thread = 1, .held = {{1, kWrite}}, .wanted = 2});
  Add({.thread = 1, .held = {{2, kWrite}}, .wanted = 3});
  order_.Remove(SyncId{2});
  EXPECT_EQ(Add({.thread = 2, .held = {{3, kWrite}}, .wanted = 1}), "");
  EXPECT_EQ(order_.node_count(), 2u);
}

TEST_F(LockOrderTest, ThreadsThatAreOrderedDoNotMeet) {
  // Thread 2 was created when thread 1 had created nobody, and joined when it had created one.
  rules_.are_ordered = [](ThreadStep a, ThreadStep b) {
    if (a.thread > b.thread) std::swap(a, b);
    return a.step != 1;
  };
  Add({.thread = 1, .held = {{1, kWrite}}, .wanted = 2, .step = 0});
  EXPECT_EQ(Add({.thread = 2, .held = {{2, kWrite}}, .wanted = 1}), "") << "before it was created";
  EXPECT_EQ(Add({.thread = 1, .held = {{1, kWrite}}, .wanted = 2, .step = 2}), "") << "after it was joined";
  EXPECT_EQ(Add({.thread = 1, .held = {{1, kWrite}}, .wanted = 2, .step = 1}), "2 1") << "meanwhile";
}

TEST_F(LockOrderTest, AllMemoryComesBack) {
  const size_t before = arena_.in_use();
  {
    LockOrder order(arena_);
    LockOrder::Cycle cycle(arena_);
    for (uint32_t i = 1; i < 200; ++i) {
      const OrderedLock held[] = {LockOf(i % 20, kWrite, i), LockOf(20 + i % 7, kRead, i)};
      order.Add({Tid{i % 5}, i % 3}, LockOf(40 + i % 11, kWrite, i), held, 2, rules_, cycle);
      if (i % 4 == 0) order.Remove(SyncId{i % 20});
    }
  }
  EXPECT_EQ(arena_.in_use(), before);
}

// ---- Against the definition ----

// Is there a deadlock that the latest of these takes part in? Tries all sequences of distinct threads.
class Oracle {
 public:
  explicit Oracle(const std::vector<Take>& takes) : takes_(takes) {}

  bool HasCycle() {
    path_ = {takes_.size() - 1};
    return Extend();
  }

 private:
  static bool Conflict(LockMode a, LockMode b) { return a == kWrite || b == kWrite; }

  bool Apart(const Take& a, const Take& b) const {
    if (a.thread == b.thread) return false;
    for (const auto& [x, x_mode] : a.held) {
      for (const auto& [y, y_mode] : b.held) {
        if (x == y && Conflict(x_mode, y_mode)) return false;
      }
    }
    return true;
  }
  static bool WaitsFor(const Take& a, const Take& b) {
    return std::any_of(b.held.begin(), b.held.end(),
                       [&](const auto& held) { return held.first == a.wanted && Conflict(held.second, a.mode); });
  }
  bool Extend() {
    if (path_.size() > 1 && WaitsFor(takes_[path_.back()], takes_[path_.front()])) return true;
    for (size_t i = 0; i < takes_.size(); ++i) {
      if (!WaitsFor(takes_[path_.back()], takes_[i])) continue;
      if (!std::all_of(path_.begin(), path_.end(), [&](size_t j) { return Apart(takes_[i], takes_[j]); })) continue;
      path_.push_back(i);
      if (Extend()) return true;
      path_.pop_back();
    }
    return false;
  }

  const std::vector<Take>& takes_;
  std::vector<size_t> path_;
};

// Random traces. Whatever is told must be a deadlock by the definition, and the first deadlock must be told, at once.
TEST(LockOrderDifferential, AgreesWithTheDefinition) {
  int with_cycle = 0;
  int without = 0;
  for (uint32_t seed = 0; seed < 10000; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
    const uint32_t locks = 3 + below(12);
    const uint32_t threads = 2 + below(4);
    Arena<AtomicMem> arena;
    LockOrder order(arena);
    LockOrder::Cycle cycle(arena);
    std::vector<uint32_t> names(locks);
    uint32_t last_name = 0;
    for (uint32_t& name : names) name = ++last_name;
    std::vector<Take> takes;
    bool is_found = false;
    for (uint32_t n = 0; n < 16 && !is_found; ++n) {
      if (below(12) == 0) {
        // Nobody waits for it any more; that it was a gate remains true.
        uint32_t& gone = names[below(locks)];
        order.Remove(SyncId{gone});
        std::erase_if(takes, [&](const Take& take) { return take.wanted == gone; });
        gone = ++last_name;
        continue;
      }
      Take take{
          .thread = below(threads), .held = {}, .wanted = names[below(locks)], .mode = below(3) == 0 ? kRead : kWrite};
      std::set<uint32_t> held;
      for (uint32_t i = 0; i <= below(3); ++i) held.insert(names[below(locks)]);
      held.erase(take.wanted);
      if (held.empty()) continue;
      for (const uint32_t lock : held) take.held.emplace_back(lock, below(3) == 0 ? kRead : kWrite);
      takes.push_back(take);
      std::vector<OrderedLock> ordered;
      for (const auto& [name, mode] : take.held) ordered.push_back(LockOf(name, mode, 100 * n + name));
      is_found = order.Add({Tid{take.thread}, 0}, LockOf(take.wanted, take.mode, 100 * n), ordered.data(),
                           static_cast<uint32_t>(ordered.size()), {}, cycle);
      ASSERT_EQ(is_found, Oracle(takes).HasCycle()) << "seed " << seed << ", event " << n;
    }
    ++(is_found ? with_cycle : without);
  }
  EXPECT_GT(with_cycle, 500);
  EXPECT_GT(without, 500);
}

// Large graphs without a cycle stay quick: nothing is searched, and nothing is told.
TEST(LockOrderDifferential, AnOrderThatIsKeptIsNeverACycle) {
  std::mt19937 random(1);
  Arena<AtomicMem> arena;
  LockOrder order(arena);
  LockOrder::Cycle cycle(arena);
  std::vector<uint32_t> rank(1000);
  for (uint32_t i = 0; i < rank.size(); ++i) rank[i] = i;
  std::shuffle(rank.begin(), rank.end(), random);
  for (int n = 0; n < 20000; ++n) {
    std::vector<uint32_t> at;
    for (int i = 0; i < 4; ++i) at.push_back(static_cast<uint32_t>(random() % rank.size()));
    std::sort(at.begin(), at.end());
    at.erase(std::unique(at.begin(), at.end()), at.end());
    if (at.size() < 2) continue;
    std::vector<OrderedLock> held;
    for (size_t i = 0; i + 1 < at.size(); ++i) held.push_back(LockOf(rank[at[i]], kWrite, 1));
    ASSERT_FALSE(order.Add({Tid{static_cast<uint32_t>(random() % 8)}, 0}, LockOf(rank[at.back()], kWrite, 2),
                           held.data(), static_cast<uint32_t>(held.size()), {}, cycle));
    if (n % 50 == 0) order.Remove(SyncId{rank[random() % rank.size()]});
  }
  EXPECT_EQ(order.given_up(), 0u);
}

}  // namespace
}  // namespace redflag::rt
