#include "runtime/sync_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <set>

#include "base/arena.h"
#include "runtime/lock_order.h"
#include "runtime/shadow.h"

namespace redflag::rt {
namespace {

class SyncTableTest : public testing::Test {
 protected:
  static constexpr uint64_t kBegin = 0x5555'0000'0000, kBytes = 256;

  void SetUp() override {
    const char* why = nullptr;
    ASSERT_TRUE(state_->shadow.Reserve(why)) << why;
    state_->table.Start();
  }
  void Use(uint64_t address) { const SyncTable::Locked locked(state_->table, address); }
  std::set<uint64_t> Found() const {
    std::set<uint64_t> found;
    for (uint64_t at = kBegin; at < kBegin + kBytes; ++at) {
      if (state_->table.Peek(at) != nullptr) found.insert(at);
    }
    return found;
  }

  struct State {
    Shadow shadow;
    Detector detector;
    Arena<AtomicMem> arena;
    LockOrder order{arena};
    SyncTable table{shadow, detector, order};
  };
  const std::unique_ptr<State> state_ = std::make_unique<State>();
};

TEST_F(SyncTableTest, WhatIsInARangeGoesAndNothingElse) {
  std::mt19937 random(1);
  std::set<uint64_t> expected;
  for (int round = 0; round < 2000; ++round) {
    for (int i = 0; i < 8; ++i) {
      const uint64_t address = kBegin + random() % kBytes;
      Use(address);
      expected.insert(address);
    }
    const uint64_t from = kBegin + random() % kBytes;
    const uint64_t to = from + random() % (kBegin + kBytes - from + 1);
    state_->table.Remove(from, to - from);
    expected.erase(expected.lower_bound(from), expected.lower_bound(to));
    ASSERT_EQ(Found(), expected) << "round " << round << ": " << from - kBegin << " to " << to - kBegin;
  }
}

}  // namespace
}  // namespace redflag::rt
