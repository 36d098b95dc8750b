// goldilocks called directly, without an engine: the paper's examples with the lockset after each step, which check decided
// and when, and that what is no longer needed goes away.
#include "detectors/goldilocks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace redflag {
namespace {

struct TinyList {
  static constexpr uint32_t kBlockEvents = 4;
  static constexpr uint32_t kMaxBlocks = 2;
  static constexpr uint32_t kEventsPerHolder = 0;
};
struct SmallList {
  static constexpr uint32_t kBlockEvents = 30;
  static constexpr uint32_t kMaxBlocks = 4;
  static constexpr uint32_t kEventsPerHolder = 2;
};

using Names = std::set<std::string>;

// A detector with threads T1, T2, ..., locks and other objects by name, and variables by name: one cell each.
template <class D>
class World {
 public:
  using Thread = typename D::Thread;
  using Sync = typename D::Sync;

  ~World() {
    for (auto& [name, cell] : cells_) d.Forget(cell);
  }

  Thread& T(uint32_t number) {
    std::unique_ptr<Thread>& thread = threads_[number];
    if (thread == nullptr) {
      thread = std::make_unique<Thread>(d, Tid{number});
      d.OnStart(*thread);
    }
    return *thread;
  }
  void End(uint32_t number) { threads_.erase(number); }
  Sync& S(const std::string& name) {
    std::unique_ptr<Sync>& sync = syncs_[name];
    if (sync == nullptr) sync = std::make_unique<Sync>(d);
    return *sync;
  }
  void Destroy(const std::string& name) { syncs_.erase(name); }

  ByteMask Touch(uint32_t thread, const std::string& name, AccessKind kind, uint8_t bytes = 0xff,
                 AccessOrigin origin = AccessOrigin::kProgram) {
    return d.OnAccess(T(thread), cells_[name],
                      Access{.granule = AddressOf(name), .bytes = ByteMask{bytes}, .kind = kind, .origin = origin},
                      record);
  }
  ByteMask Write(uint32_t thread, const std::string& name) { return Touch(thread, name, AccessKind::kWrite); }
  ByteMask Read(uint32_t thread, const std::string& name) { return Touch(thread, name, AccessKind::kRead); }

  void Lock(uint32_t thread, const std::string& name, LockMode mode = LockMode::kExclusive) {
    d.OnLock(T(thread), S(name), mode);
  }
  void Unlock(uint32_t thread, const std::string& name, LockMode mode = LockMode::kExclusive) {
    d.OnUnlock(T(thread), S(name), mode);
  }

  // commit(R, W); returns the bytes that race, of any variable.
  ByteMask Commit(uint32_t thread, const std::vector<std::string>& reads, const std::vector<std::string>& writes) {
    std::vector<Footprint> footprint;
    for (const std::string& name : reads) {
      footprint.push_back({.addr = AddressOf(name), .size = 8, .kind = AccessKind::kRead});
    }
    for (const std::string& name : writes) {
      footprint.push_back({.addr = AddressOf(name), .size = 8, .kind = AccessKind::kWrite});
    }
    d.OnCommitBegin(T(thread), footprint.data(), footprint.size());
    ByteMask raced = kNoBytes;
    for (const std::string& name : writes) {
      raced = raced | Touch(thread, name, AccessKind::kWrite, 0xff, AccessOrigin::kTransaction);
    }
    for (const std::string& name : reads) {
      raced = raced | Touch(thread, name, AccessKind::kRead, 0xff, AccessOrigin::kTransaction);
    }
    d.OnCommitEnd(T(thread), footprint.data(), footprint.size());
    return raced;
  }

  // LS of the latest write to the first byte. Commits are K1, K2, ...
  Names LS(const std::string& name) {
    Names names;
    d.ForEachElement(cells_[name], 0, [&](AccessKind kind, Tid, Element element) {
      if (kind == AccessKind::kWrite) names.insert(NameOf(element));
    });
    return names;
  }

  Addr AddressOf(const std::string& name) {
    const auto [it, is_new] = addresses_.try_emplace(name, Addr{0x1000 + 8 * addresses_.size()});
    return it->second;
  }
  auto& CellOf(const std::string& name) { return cells_[name]; }
  uint64_t Count(typename D::Rule rule) {
    uint64_t count = 0;
    for (const auto& [number, thread] : threads_) count += thread->counts[rule];
    return count;
  }

  D d;
  RaceRecord record;

 private:
  std::string NameOf(Element element) {
    if (KindOf(element) == ElementKind::kThread) return "T" + std::to_string(IdOf(element));
    if (KindOf(element) == ElementKind::kCommit) return "K" + std::to_string(IdOf(element));
    for (const auto& [name, sync] : syncs_) {
      for (const ElementKind kind : {ElementKind::kCarried, ElementKind::kExclusive, ElementKind::kShared}) {
        if (sync->element(kind) == element) return name;
      }
    }
    return "?";
  }

  std::map<uint32_t, std::unique_ptr<Thread>> threads_;
  std::map<std::string, std::unique_ptr<Sync>> syncs_;
  std::map<std::string, Addr> addresses_;
  std::map<std::string, typename D::Cell> cells_;
};

using D = Goldilocks<PlainMem>;
using W = World<D>;

// ---- The paper's examples ----

TEST(GoldilocksTest, Example2EvolvesAsInFigure6) {
  W w;
  EXPECT_EQ(w.LS("o.data"), (Names{}));
  EXPECT_EQ(w.Write(1, "o.data"), kNoBytes);
  EXPECT_EQ(w.LS("o.data"), (Names{"T1"}));
  w.Lock(1, "ma");
  w.Write(1, "a");
  w.Unlock(1, "ma");
  EXPECT_EQ(w.LS("o.data"), (Names{"T1", "ma"}));
  w.Lock(2, "ma");
  EXPECT_EQ(w.LS("o.data"), (Names{"T1", "T2", "ma"}));
  EXPECT_EQ(w.Read(2, "a"), kNoBytes);
  w.Unlock(2, "ma");
  w.Lock(2, "mb");
  w.Write(2, "b");
  w.Unlock(2, "mb");
  EXPECT_EQ(w.LS("o.data"), (Names{"T1", "T2", "ma", "mb"}));
  w.Lock(3, "mb");
  EXPECT_EQ(w.LS("o.data"), (Names{"T1", "T2", "T3", "ma", "mb"}));
  EXPECT_EQ(w.Write(3, "o.data"), kNoBytes);
  EXPECT_EQ(w.LS("o.data"), (Names{"T3"}));
  EXPECT_EQ(w.Read(3, "b"), kNoBytes);
  w.Unlock(3, "mb");
  EXPECT_EQ(w.LS("o.data"), (Names{"T3", "mb"}));
  EXPECT_EQ(w.Write(3, "o.data"), kNoBytes);
  EXPECT_EQ(w.LS("o.data"), (Names{"T3"}));
}

// Figure 7, with K_n for "the variables whose latest commit is the n-th".
TEST(GoldilocksTest, Example3PassesANodeThroughTransactions) {
  W w;
  EXPECT_EQ(w.Write(1, "o.data"), kNoBytes);
  EXPECT_EQ(w.LS("o.data"), (Names{"T1"}));
  EXPECT_EQ(w.Commit(1, {"head"}, {"o.nxt", "head"}), kNoBytes);
  EXPECT_EQ(w.LS("o.data"), (Names{"T1", "K1"}));
  EXPECT_EQ(w.Commit(2, {"head", "o.nxt"}, {"o.data"}), kNoBytes);
  EXPECT_EQ(w.LS("o.data"), (Names{"T2", "K2"}));
  EXPECT_EQ(w.Commit(3, {"head", "o.nxt"}, {"head"}), kNoBytes);
  EXPECT_EQ(w.LS("o.data"), (Names{"T2", "T3", "K2", "K3"}));
  EXPECT_EQ(w.Read(3, "o.data"), kNoBytes);
  EXPECT_EQ(w.Write(3, "o.data"), kNoBytes);
  EXPECT_EQ(w.LS("o.data"), (Names{"T3"}));
}

TEST(GoldilocksTest, Example4IsARaceOfATransactionWithALock) {
  W w;
  EXPECT_EQ(w.Commit(1, {}, {"savings", "checking"}), kNoBytes);
  w.Lock(2, "checking.lock");
  EXPECT_EQ(w.Read(2, "checking"), kAllBytes);
  EXPECT_EQ(w.record.earlier[0].thread, Tid{1});
  EXPECT_EQ(w.record.earlier[0].origin, AccessOrigin::kTransaction);
}

// ---- Locksets of C++ ----

TEST(GoldilocksTest, AReleaseStoreReplacesAndAReadModifyWriteExtends) {
  W w;
  w.Write(1, "x");
  w.d.OnReleaseStore(w.T(1), w.S("flag"));
  EXPECT_EQ(w.LS("x"), (Names{"T1", "flag"}));
  w.d.OnRelaxedMerge(w.T(2), w.S("flag"));
  EXPECT_EQ(w.LS("x"), (Names{"T1", "flag"}));
  w.d.OnReleaseStore(w.T(2), w.S("flag"));
  EXPECT_EQ(w.LS("x"), (Names{"T1"}));
  w.d.OnAcquire(w.T(3), w.S("flag"));
  EXPECT_EQ(w.Read(3, "x"), kAllBytes);
}

TEST(GoldilocksTest, WhatReadersLeaveIsTakenByWritersOnly) {
  W w;
  w.Lock(1, "m", LockMode::kShared);
  w.Write(1, "x");
  w.Unlock(1, "m", LockMode::kShared);
  w.Lock(2, "m", LockMode::kShared);
  EXPECT_EQ(w.LS("x"), (Names{"T1", "m"}));
  w.Unlock(2, "m", LockMode::kShared);
  w.Lock(3, "m");
  EXPECT_EQ(w.LS("x"), (Names{"T1", "T3", "m"}));
}

TEST(GoldilocksTest, ALockThatIsDestroyedTakesItsElementWithIt) {
  W w;
  w.Lock(1, "m");
  w.Write(1, "x");
  w.Unlock(1, "m");
  w.Destroy("m");
  EXPECT_EQ(w.LS("x"), (Names{"T1"}));
  w.Lock(2, "m");
  EXPECT_EQ(w.Read(2, "x"), kAllBytes);
}

TEST(GoldilocksTest, AThreadThatIsGoneLeavesTheLocksets) {
  W w;
  w.Write(1, "x");
  w.d.OnFork(w.T(1), w.T(2));
  EXPECT_EQ(w.LS("x"), (Names{"T1", "T2"}));
  w.d.OnJoin(w.T(1), w.T(2));
  w.End(2);
  EXPECT_EQ(w.LS("x"), (Names{"T1"}));
}

// ---- Short circuits ----

TEST(GoldilocksTest, SameThreadNeedsNoEvaluation) {
  W w;
  w.Write(1, "x");
  w.d.OnReleaseMerge(w.T(1), w.S("s"));
  w.Write(1, "x");
  EXPECT_EQ(w.Count(D::kSameThread), 1u);
  w.Write(1, "x");
  EXPECT_EQ(w.Count(D::kSameOwnership), 1u);
  EXPECT_EQ(w.Count(D::kFullWalk), 0u);
}

TEST(GoldilocksTest, ALockHeldThenAndNowNeedsNoEvaluation) {
  W w;
  for (uint32_t i = 0; i < 100; ++i) {
    w.Lock(i % 4, "m");
    EXPECT_EQ(w.Write(i % 4, "x"), kNoBytes);
    w.Unlock(i % 4, "m");
  }
  EXPECT_EQ(w.Count(D::kLockHeld), 99u);
  EXPECT_EQ(w.Count(D::kTwoThreads) + w.Count(D::kFullWalk), 0u);
}

TEST(GoldilocksTest, ALockHeldForReadingByBothDecidesNothing) {
  W w;
  w.Lock(1, "m", LockMode::kShared);
  w.Write(1, "x");
  w.Lock(2, "m", LockMode::kShared);
  EXPECT_EQ(w.Write(2, "x"), kAllBytes);
  EXPECT_EQ(w.Count(D::kLockHeld), 0u);
  w.Lock(3, "n", LockMode::kShared);
  w.Read(3, "y");
  w.Unlock(3, "n", LockMode::kShared);
  w.Lock(4, "n");
  EXPECT_EQ(w.Write(4, "y"), kNoBytes) << "a writer comes after the reader";
  EXPECT_EQ(w.Count(D::kLockHeld), 1u);
}

TEST(GoldilocksTest, ADirectTransferNeedsTheEventsOfTwoThreadsOnly) {
  W w;
  w.Write(1, "x");
  w.d.OnReleaseMerge(w.T(1), w.S("s"));
  for (uint32_t i = 0; i < 20; ++i) w.d.OnReleaseMerge(w.T(3), w.S("other"));
  w.d.OnAcquire(w.T(2), w.S("s"));
  EXPECT_EQ(w.Read(2, "x"), kNoBytes);
  EXPECT_EQ(w.Count(D::kTwoThreads), 1u);
  EXPECT_EQ(w.Count(D::kFullWalk), 0u);
  EXPECT_EQ(w.LS("x"), (Names{"T1", "T2", "s"})) << "the set itself was not touched by the short circuit";
}

TEST(GoldilocksTest, ATransferThroughAThirdThreadNeedsAllEvents) {
  W w;
  w.Write(1, "x");
  w.d.OnReleaseMerge(w.T(1), w.S("s"));
  w.d.OnAcquire(w.T(3), w.S("s"));
  w.d.OnReleaseMerge(w.T(3), w.S("r"));
  w.d.OnAcquire(w.T(2), w.S("r"));
  EXPECT_EQ(w.Read(2, "x"), kNoBytes);
  EXPECT_EQ(w.Count(D::kTwoThreads), 0u);
  EXPECT_EQ(w.Count(D::kFullWalk), 1u);
  EXPECT_EQ(w.Touch(2, "x", AccessKind::kWrite), kNoBytes);
  EXPECT_EQ(w.Count(D::kAlreadyOwner), 1u) << "the evaluation is remembered";
}

TEST(GoldilocksTest, AThirdThreadsStoreIsNotOverlookedByTheTwoThreadCheck) {
  W w;
  w.Write(1, "x");
  w.d.OnReleaseStore(w.T(1), w.S("flag"));
  w.d.OnRelaxedStore(w.T(3), w.S("flag"));
  w.d.OnReleaseMerge(w.T(3), w.S("flag"));
  w.d.OnAcquire(w.T(2), w.S("flag"));
  EXPECT_EQ(w.Read(2, "x"), kAllBytes);
}

TEST(GoldilocksTest, TransactionsOnOneVariableNeedNoEvaluation) {
  W w;
  for (uint32_t i = 0; i < 10; ++i) EXPECT_EQ(w.Commit(i % 3, {}, {"x"}), kNoBytes);
  EXPECT_EQ(w.Count(D::kBothTransactions), 9u);
  EXPECT_EQ(w.Count(D::kFullWalk), 0u);
}

// ---- Reads and writes ----

TEST(GoldilocksTest, AReadIsCheckedAgainstTheWriteAndAWriteAgainstAllReads) {
  W w;
  w.Write(1, "x");
  EXPECT_EQ(w.Read(2, "x"), kAllBytes);
  for (uint32_t thread = 1; thread < 8; ++thread) EXPECT_EQ(w.Read(thread, "y"), kNoBytes);
  EXPECT_EQ(w.Write(8, "y"), kAllBytes);
  EXPECT_EQ(w.record.earlier_count, 7u);
}

TEST(GoldilocksTest, TheRecordNamesBothSides) {
  W w;
  w.T(1).held.Acquire(SyncId{3}, LockMode::kExclusive);
  w.Lock(1, "m");
  w.Touch(1, "x", AccessKind::kWrite, 0x0f);
  EXPECT_EQ(w.Touch(2, "x", AccessKind::kRead, 0x3c), ByteMask{0x0c}) << "only the bytes in common race";
  EXPECT_EQ(w.record.granule, w.AddressOf("x"));
  EXPECT_EQ(w.record.access.thread, Tid{2});
  EXPECT_EQ(w.record.access.bytes, ByteMask{0x3c});
  ASSERT_EQ(w.record.earlier_count, 1u);
  EXPECT_EQ(w.record.earlier[0].thread, Tid{1});
  EXPECT_EQ(w.record.earlier[0].bytes, ByteMask{0x0c});
  const LocksetView locks = w.d.locksets().View(w.record.earlier[0].locks);
  ASSERT_EQ(locks.count, 1u);
  EXPECT_EQ(LockOf(locks.first[0]), SyncId{3});
}

TEST(GoldilocksTest, AfterARaceTheByteIsNotCheckedUntilItsNextLifetime) {
  W w;
  w.Touch(1, "x", AccessKind::kWrite, 0x01);
  EXPECT_EQ(w.Touch(2, "x", AccessKind::kWrite, 0x03), ByteMask{0x01});
  EXPECT_EQ(w.Touch(1, "x", AccessKind::kWrite, 0x03), ByteMask{0x02}) << "the other byte has a race of its own";
  EXPECT_EQ(w.Touch(2, "x", AccessKind::kWrite, 0x03), kNoBytes);
  EXPECT_EQ(w.Count(D::kDisabled), 1u);
  const auto stamp = w.d.OnLifetime(w.T(2), w.AddressOf("x"), 8, AccessOrigin::kAlloc, ContextId{9});
  w.d.Revive(w.CellOf("x"), kAllBytes, stamp);
  EXPECT_EQ(w.Read(1, "x"), kAllBytes) << "the allocation is the first write";
  EXPECT_EQ(w.record.earlier[0].origin, AccessOrigin::kAlloc);
  EXPECT_EQ(w.record.earlier[0].context, ContextId{9});
  EXPECT_EQ(w.record.earlier_count, 1u);
}

TEST(GoldilocksTest, TheTagChangesExactlyAtReleases) {
  W w;
  auto& t = w.T(1);
  auto& s = w.S("s");
  EXPECT_EQ(w.d.OnLock(t, s, LockMode::kExclusive), Tag::kKept);
  EXPECT_EQ(w.d.OnUnlock(t, s, LockMode::kExclusive), Tag::kChanged);
  EXPECT_EQ(w.d.OnAcquire(t, s), Tag::kKept);
  EXPECT_EQ(w.d.OnReleaseStore(t, s), Tag::kChanged);
  EXPECT_EQ(w.d.OnReleaseMerge(t, s), Tag::kChanged);
  EXPECT_EQ(w.d.OnRelaxedLoad(t, s), Tag::kKept);
  EXPECT_EQ(w.d.OnRelaxedStore(t, s), Tag::kKept);
  EXPECT_EQ(w.d.OnRelaxedMerge(t, s), Tag::kKept);
  EXPECT_EQ(w.d.OnAcquireFence(t), Tag::kKept);
  EXPECT_EQ(w.d.OnReleaseFence(t), Tag::kChanged);
  EXPECT_EQ(w.d.OnCommitBegin(t, nullptr, 0), Tag::kKept);
  EXPECT_EQ(w.d.OnCommitEnd(t, nullptr, 0), Tag::kChanged);
}

// ---- The event list: 5.4 ----

TEST(GoldilocksTest, TheListIsTrimmedBehindTheOldestAccessThatMatters) {
  W w;
  for (uint32_t i = 0; i < 100'000; ++i) {
    const uint32_t thread = i % 4;
    w.Lock(thread, "m");
    w.Write(thread, "x");
    w.Unlock(thread, "m");
    ASSERT_LE(w.d.ledger().list().blocks(), 3u);
  }
  EXPECT_GT(w.Count(D::kTrimmed), 1000u);
  EXPECT_EQ(w.Count(D::kEager), 0u);
}

TEST(GoldilocksTest, AnIdleVariableIsEvaluatedEagerlyAndDoesNotHoldTheList) {
  World<Goldilocks<PlainMem, SmallList>> w;
  w.Write(1, "idle");
  w.d.OnReleaseMerge(w.T(1), w.S("s"));
  size_t early = 0;
  for (uint32_t i = 0; i < 100'000; ++i) {
    w.Lock(2 + i % 3, "m");
    w.Write(2 + i % 3, "x");
    w.Unlock(2 + i % 3, "m");
    if (i == 1000) early = w.d.arena().in_use();
    ASSERT_LE(w.d.ledger().list().blocks(), 6u);
  }
  EXPECT_GE(w.Count(Goldilocks<PlainMem, SmallList>::kEager), 1u);
  EXPECT_LE(w.d.arena().in_use(), early);
  EXPECT_EQ(w.LS("idle"), (Names{"T1", "s"}));
  w.d.OnAcquire(w.T(5), w.S("s"));
  EXPECT_EQ(w.Write(5, "idle"), kNoBytes);
  EXPECT_EQ(w.Write(1, "idle"), kAllBytes);
}

TEST(GoldilocksTest, LocksetsThatBecomeEqualAreMerged) {
  using Tiny = Goldilocks<PlainMem, TinyList>;
  World<Tiny> w;
  for (uint32_t i = 0; i < 2000; ++i) {
    w.Lock(i % 4, "m");
    w.Write(i % 4, "x" + std::to_string(i));
    w.Unlock(i % 4, "m");
  }
  EXPECT_GT(w.Count(Tiny::kMerged), 1900u) << "whatever is old is owned by everybody and the lock";
  EXPECT_EQ(w.LS("x0"), (Names{"T0", "T1", "T2", "T3", "m"}));
}

// Engines keep stamps without telling; the detector must answer for old ones and not grow with their number.
TEST(GoldilocksTest, StampsAreExactForEverAndCostNothingPerLifetime) {
  using Small = Goldilocks<PlainMem, SmallList>;
  World<Small> w;
  const Addr addr = w.AddressOf("block");
  const auto first = w.d.OnLifetime(w.T(1), addr, 8, AccessOrigin::kAlloc, ContextId{1});
  w.d.OnReleaseMerge(w.T(1), w.S("s"));
  const auto second = w.d.OnLifetime(w.T(1), addr, 8, AccessOrigin::kAlloc, ContextId{2});
  size_t early = 0;
  for (uint32_t i = 0; i < 50'000; ++i) {
    const uint32_t thread = 2 + i % 3;
    w.Lock(thread, "m");
    w.d.OnLifetime(w.T(thread), addr, 8, AccessOrigin::kAlloc, ContextId{3});
    w.Unlock(thread, "m");
    if (i == 5000) early = w.d.arena().in_use();
  }
  EXPECT_LE(w.d.arena().in_use(), early + early / 2);
  w.d.OnAcquire(w.T(5), w.S("s"));
  w.d.Revive(w.CellOf("block"), kAllBytes, first);
  EXPECT_EQ(w.Read(5, "block"), kNoBytes) << "5 came after the first lifetime began";
  w.d.Revive(w.CellOf("block"), kAllBytes, second);
  EXPECT_EQ(w.Read(5, "block"), kAllBytes) << "and not after the second did";
  EXPECT_EQ(w.record.earlier[0].context, ContextId{2});
}

TEST(GoldilocksTest, EverythingIsGivenBack) {
  D d;
  const size_t before = d.arena().in_use();
  {
    std::map<uint32_t, D::Cell> cells;
    std::vector<std::unique_ptr<D::Thread>> threads;
    D::Sync sync(d);
    for (uint32_t i = 0; i < 20; ++i) threads.push_back(std::make_unique<D::Thread>(d, Tid{i}));
    RaceRecord record;
    for (uint32_t i = 0; i < 5000; ++i) {
      D::Thread& t = *threads[i % 20];
      const AccessKind kind{static_cast<uint8_t>(i / 7 % 4)};
      d.OnAccess(t, cells[i % 13], Access{.bytes = ByteMask(1u << i % 8), .kind = kind, .context = ContextId{i}},
                 record);
      if (i % 5 == 0) d.OnReleaseMerge(t, sync);
      if (i % 7 == 0) d.OnAcquire(t, sync);
    }
    for (auto& [number, cell] : cells) d.Forget(cell);
  }
  EXPECT_EQ(d.ledger().list().holders(), 0u);
  // What stays is the list, which has at least one block, and the table of lock sets, empty here.
  EXPECT_LE(d.arena().in_use(), before + EventListLimits::kMaxBlocks * 2048);
}

// ---- The runtime's policy under real threads ----

TEST(GoldilocksConcurrentTest, SimultaneousAccessesNeverHideARace) {
  using A = Goldilocks<AtomicMem>;
  for (int round = 0; round < 300; ++round) {
    World<A> w;
    A::Thread& a = w.T(0);
    A::Thread& b = w.T(1);
    A::Cell& cell = w.CellOf("x");
    std::atomic<int> ready{0};
    ByteMask found[2] = {};
    const auto body = [&](A::Thread& t, ByteMask& result) {
      RaceRecord record;
      ready.fetch_add(1);
      while (ready.load() != 2) std::this_thread::yield();
      result = w.d.OnAccess(t, cell, Access{.bytes = kAllBytes, .kind = AccessKind::kWrite}, record);
    };
    std::thread ta([&] { body(a, found[0]); });
    std::thread tb([&] { body(b, found[1]); });
    ta.join();
    tb.join();
    ASSERT_EQ(Any(found[0]) + Any(found[1]), 1) << "exactly the second of the two completes the race";
  }
}

TEST(GoldilocksConcurrentTest, ThreadsThatUseALockDoNotRace) {
  using A = Goldilocks<AtomicMem, SmallList>;
  World<A> w;
  AtomicMem::Lock lock;
  std::atomic<uint64_t> races{0};
  std::vector<std::thread> threads;
  for (uint32_t number = 1; number <= 4; ++number) w.T(number);
  auto& sync = w.S("m");
  auto& shared = w.CellOf("shared");
  for (uint32_t number = 1; number <= 4; ++number) {
    A::Cell& own = w.CellOf("own" + std::to_string(number));
    threads.emplace_back([&w, &lock, &races, &sync, &shared, &own, number, &t = w.T(number)] {
      RaceRecord record;
      const auto write = [&](A::Cell& cell) {
        if (Any(w.d.OnAccess(t, cell, Access{.bytes = kAllBytes, .kind = AccessKind::kWrite}, record))) ++races;
      };
      for (uint32_t i = 0; i < 3000; ++i) {
        lock.Acquire();
        w.d.OnLock(t, sync, LockMode::kExclusive);
        write(shared);
        w.d.OnUnlock(t, sync, LockMode::kExclusive);
        lock.Release();
        if (i % 50 == number) write(own);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(races, 0u);
}

}  // namespace
}  // namespace redflag
