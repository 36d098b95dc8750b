#include "tests/differential/generator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/differential/oracle.h"

namespace redflag {
namespace {

// The rules of a well-formed trace, written down once more and independently of the generator. The first
// breach, or nothing.
class WellFormedness {
 public:
  explicit WellFormedness(const Trace& trace) : trace_(trace) {
    for (Tid thread : trace.initial_threads) threads_[thread].exists = true;
  }

  std::optional<std::string> FirstBreach() {
    for (size_t index = 0; index < trace_.events.size(); ++index) {
      Check(trace_.events[index]);
      if (!breach_.empty()) return "event " + std::to_string(index) + ": " + breach_;
    }
    for (const auto& [tid, thread] : threads_) Require(!thread.in_transaction, "a footprint is never committed");
    if (!breach_.empty()) return breach_;
    return std::nullopt;
  }

 private:
  struct ThreadState {
    bool exists = false;
    bool over = false;
    bool joined = false;
    bool in_transaction = false;
    std::optional<uint32_t> barrier;
    uint64_t phase = 0;
    int ignored_reads = 0;
    int ignored_writes = 0;
    int calls = 0;
  };
  struct LockState {
    bool destroyed = false;
    std::map<Tid, std::pair<LockMode, int>> holders;
  };

  void Require(bool condition, const char* breach) {
    if (!condition && breach_.empty()) breach_ = breach;
  }
  void RequireSync(const Event& event, std::set<SyncKind> kinds) {
    Require(event.object < trace_.syncs.size() && kinds.contains(trace_.syncs[event.object].kind), "wrong object");
  }

  void Check(const Event& event) {
    using enum EventKind;
    ThreadState& thread = threads_[event.thread];
    Require(thread.exists, "not forked yet");
    Require(!thread.over, "the thread is over");
    Require(!thread.barrier || event.kind == kBarrierLeave, "waits at a barrier");
    if (thread.in_transaction) {
      Require(event.kind == kTxRead || event.kind == kTxWrite || event.kind == kTxCommit, "not committed yet");
    }
    switch (event.kind) {
      case kForget:
        break;
      case kTold:
        Require(false, "only recordings have it");
        break;
      case kRead:
      case kWrite:
        Require(event.size >= 1 && event.size <= 16, "size");
        break;
      case kTxRead:
      case kTxWrite:
        Require(event.size >= 1 && event.size <= 16, "size");
        thread.in_transaction = true;
        break;
      case kTxCommit:
        Require(thread.in_transaction, "an empty transaction");
        thread.in_transaction = false;
        break;
      case kAtomicLoad:
      case kAtomicStore:
      case kAtomicRmw:
        CheckAtomic(event);
        break;
      case kFence:
        Require(event.order != MemoryOrder::kRelaxed, "a relaxed fence");
        break;
      case kLock:
      case kUnlock:
      case kLockCreate:
      case kLockDestroy:
        CheckLock(event);
        break;
      case kPureHbMutex:
        RequireSync(event, {SyncKind::kLock});
        break;
      case kSignal:
        RequireSync(event, {SyncKind::kSignal, SyncKind::kCondition, SyncKind::kSemaphore});
        ++signals_[event.object];
        break;
      case kWait:
        RequireSync(event, {SyncKind::kSignal, SyncKind::kCondition, SyncKind::kSemaphore});
        if (trace_.syncs[event.object].kind == SyncKind::kSemaphore) {
          Require(signals_[event.object]-- > 0, "the semaphore is 0");
        }
        break;
      case kBarrierArrive:
        RequireSync(event, {SyncKind::kBarrier});
        Require(event.size == 2 || event.size == 3, "parties");
        thread.barrier = event.object;
        thread.phase = arrivals_[event.object]++ / event.size;
        break;
      case kBarrierLeave:
        Require(thread.barrier == event.object, "has not arrived here");
        Require(arrivals_[event.object] >= (thread.phase + 1) * event.size, "the phase is not complete");
        thread.barrier.reset();
        break;
      case kThreadFork:
        Require(!std::exchange(threads_[event.child()].exists, true), "forked twice");
        Require(Raw(event.child()) < trace_.threads.size(), "a thread without a name");
        break;
      case kThreadJoin: {
        ThreadState& child = threads_[event.child()];
        Require(child.exists && !child.joined && event.child() != event.thread, "cannot be joined");
        Require(!child.barrier && !child.in_transaction && !HoldsLock(event.child()), "is busy");
        child.over = child.joined = true;
        break;
      }
      case kThreadEnd:
        Require(!HoldsLock(event.thread), "ends with a lock");
        thread.over = true;
        break;
      case kThreadName:
        Require(event.object < trace_.texts.size(), "no such text");
        break;
      case kAlloc:
        for (const auto& [addr, size] : blocks_) {
          const bool apart = Raw(event.addr) + event.size <= addr || addr + size <= Raw(event.addr);
          Require(apart, "overlaps a live block");
        }
        blocks_[Raw(event.addr)] = event.size;
        break;
      case kFree:
        Require(blocks_.contains(Raw(event.addr)) && blocks_[Raw(event.addr)] == event.size, "no such block");
        blocks_.erase(Raw(event.addr));
        break;
      case kFunctionEnter:
        Require(event.object < trace_.functions.size(), "no such function");
        ++thread.calls;
        break;
      case kFunctionExit:
        Require(thread.calls-- > 0, "no call to return from");
        break;
      case kIgnoreReadsBegin:
        ++thread.ignored_reads;
        break;
      case kIgnoreReadsEnd:
        Require(thread.ignored_reads-- > 0, "no ignored section");
        break;
      case kIgnoreWritesBegin:
        ++thread.ignored_writes;
        break;
      case kIgnoreWritesEnd:
        Require(thread.ignored_writes-- > 0, "no ignored section");
        break;
      case kBenignRace:
      case kExpectRace:
      case kPublish:
      case kUnpublish:
      case kNewMemory:
        Require(event.size > 0, "size");
        break;
    }
  }

  void CheckAtomic(const Event& event) {
    using enum MemoryOrder;
    Require(event.size <= 16 && (event.size & (event.size - 1)) == 0 && event.size != 0, "size");
    Require(Raw(event.addr) % event.size == 0, "alignment");
    if (event.kind == EventKind::kAtomicLoad) {
      Require(event.order == kRelaxed || event.order == kAcquire || event.order == kSeqCst, "order");
    }
    if (event.kind == EventKind::kAtomicStore) {
      Require(event.order == kRelaxed || event.order == kRelease || event.order == kSeqCst, "order");
    }
  }

  void CheckLock(const Event& event) {
    RequireSync(event, {SyncKind::kLock});
    LockState& lock = locks_[event.object];
    const auto held = lock.holders.find(event.thread);
    switch (event.kind) {
      case EventKind::kLock:
        Require(!lock.destroyed, "the lock is destroyed");
        if (held == lock.holders.end()) {
          for (const auto& [other, hold] : lock.holders) {
            Require(hold.first == LockMode::kShared && event.mode == LockMode::kShared, "the lock is taken");
          }
          lock.holders[event.thread] = {event.mode, 1};
        } else {
          Require(held->second.first == event.mode, "mixed modes");
          ++held->second.second;
        }
        break;
      case EventKind::kUnlock:
        Require(held != lock.holders.end() && held->second.first == event.mode, "not held");
        if (held != lock.holders.end() && --held->second.second == 0) lock.holders.erase(held);
        break;
      default:
        Require(lock.holders.empty(), "the lock is taken");
        Require(event.kind == EventKind::kLockCreate || !lock.destroyed, "destroyed twice");
        lock.destroyed = event.kind == EventKind::kLockDestroy;
        break;
    }
  }

  bool HoldsLock(Tid thread) const {
    for (const auto& [id, lock] : locks_) {
      if (lock.holders.contains(thread)) return true;
    }
    return false;
  }

  const Trace& trace_;
  std::string breach_;
  std::map<Tid, ThreadState> threads_;
  std::map<uint32_t, LockState> locks_;
  std::map<uint32_t, int> signals_;
  std::map<uint32_t, uint64_t> arrivals_;
  std::map<uint64_t, uint64_t> blocks_;
};

bool SameEvents(const Trace& a, const Trace& b) {
  return a.events.size() == b.events.size() &&
         std::memcmp(a.events.data(), b.events.data(), a.events.size() * sizeof(Event)) == 0;
}

TEST(GeneratorTest, TheSameSeedGivesTheSameTrace) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    EXPECT_TRUE(SameEvents(Generate(seed), Generate(seed)));
    EXPECT_FALSE(SameEvents(Generate(seed), Generate(seed + 1)));
  }
}

TEST(GeneratorTest, TracesAreWellFormed) {
  for (uint64_t seed = 0; seed < 5'000; ++seed) {
    GeneratorOptions options;
    options.vary_features = seed % 2 == 0;
    if (seed % 16 == 1) options.features = 0;
    if (seed % 16 == 3) options.mistakes = 200;
    if (seed % 16 == 5) options.min_variables = options.max_variables = 1 + seed % 3;
    if (seed % 16 == 7) options.min_events = options.max_events = 250;
    const Trace trace = Generate(seed, options);
    const auto breach = WellFormedness(trace).FirstBreach();
    ASSERT_FALSE(breach.has_value()) << "seed " << seed << ", " << *breach;
    EXPECT_GE(trace.events.size(), options.min_events) << "seed " << seed;
    EXPECT_LE(trace.events.size(), options.max_events + 40) << "seed " << seed;
  }
}

TEST(GeneratorTest, NamesEverythingThatItUses) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    const Trace trace = Generate(seed);
    ASSERT_EQ(trace.lines.size(), trace.events.size());
    EXPECT_EQ(trace.lines.front(), 1u);
    EXPECT_EQ(trace.lines.back(), trace.events.size());
    EXPECT_FALSE(trace.initial_threads.empty());
    EXPECT_EQ(trace.threads.at(0), "t0");
    std::set<std::string> names;
    uint64_t latest = 0;
    for (const NamedRange& range : trace.ranges) {
      EXPECT_TRUE(names.insert(range.name).second) << range.name;
      EXPECT_GE(range.first_event, latest);
      latest = range.first_event;
    }
  }
}

TEST(GeneratorTest, EveryKindOfEventOccurs) {
  std::array<uint64_t, kEventKindCount> count{};
  std::set<std::pair<EventKind, MemoryOrder>> orders;
  uint64_t shared = 0, late_forks = 0, unaligned = 0;
  for (uint64_t seed = 0; seed < 2'000; ++seed) {
    bool joined = false;
    for (const Event& event : Generate(seed).events) {
      ++count[static_cast<size_t>(event.kind)];
      orders.insert({event.kind, event.order});
      shared += event.kind == EventKind::kLock && event.mode == LockMode::kShared;
      joined |= event.kind == EventKind::kThreadJoin;
      late_forks += joined && event.kind == EventKind::kThreadFork;
      unaligned += event.kind == EventKind::kWrite && Raw(event.addr) / 8 != (Raw(event.addr) + event.size - 1) / 8;
    }
  }
  for (int kind = 0; kind < kEventKindCount; ++kind) {
    if (kind == static_cast<int>(EventKind::kTold)) continue;
    EXPECT_GT(count[static_cast<size_t>(kind)], 20u) << kind;
  }
  EXPECT_GT(shared, 20u);
  EXPECT_GT(late_forks, 20u);
  EXPECT_GT(unaligned, 20u);
  for (MemoryOrder order : {MemoryOrder::kAcquire, MemoryOrder::kRelease, MemoryOrder::kAcqRel, MemoryOrder::kSeqCst}) {
    EXPECT_TRUE(orders.contains({EventKind::kAtomicRmw, order}));
    EXPECT_TRUE(orders.contains({EventKind::kFence, order}));
  }
}

TEST(GeneratorTest, FeaturesThatAreNotAskedForDoNotOccur) {
  using enum EventKind;
  const std::set<EventKind> basic = {kRead, kWrite, kLock, kUnlock, kThreadFork, kThreadJoin, kThreadEnd};
  GeneratorOptions options;
  options.features = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    for (const Event& event : Generate(seed, options).events) {
      EXPECT_TRUE(basic.contains(event.kind));
      EXPECT_EQ(event.mode, LockMode::kExclusive);
    }
  }
}

TEST(GeneratorTest, WithoutMistakesNothingRaces) {
  for (uint64_t seed = 0; seed < 5'000; ++seed) {
    GeneratorOptions options;
    options.mistakes = 0;
    options.vary_features = seed % 2 == 0;
    ASSERT_TRUE(oracle::FindRaces(Generate(seed, options)).empty()) << "seed " << seed;
  }
}

TEST(GeneratorTest, AboutHalfOfTheTracesRace) {
  constexpr int kTraces = 5'000;
  int racy = 0, one_byte = 0, five_readers = 0;
  for (uint64_t seed = 0; seed < kTraces; ++seed) {
    const auto races = oracle::FindRaces(Generate(seed));
    racy += !races.empty();
    one_byte += races.size() == 1;
    five_readers +=
        std::any_of(races.begin(), races.end(), [](const oracle::FirstRace& race) { return race.maximal.size() >= 5; });
  }
  std::cout << racy << " of " << kTraces << " traces race, " << one_byte << " of them in one byte; in " << five_readers
            << " an access races with five concurrent ones\n";
  EXPECT_GT(racy, kTraces * 3 / 10);
  EXPECT_LT(racy, kTraces * 7 / 10);
  EXPECT_GT(one_byte, kTraces / 50);
  EXPECT_GT(five_readers, kTraces / 1000);
}

}  // namespace
}  // namespace redflag
