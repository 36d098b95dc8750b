// goldilocks as it runs inside programs, called directly: who owned what a race is with, in which order they came, from whom; and what happens when the
// log of that is full. That its locksets agree with clocks is the business of the differential suite.
#include "detectors/goldilocks_online.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "clocks/opened_packed_cell.h"

namespace redflag {
namespace {

struct TinyLog {
  static constexpr uint32_t kBlockEvents = 4;
  static constexpr uint32_t kBlocks = 4;
};

template <class Limits>
class World {
 public:
  using D = GoldilocksOnline<PlainMem, PackedCell, Limits>;
  using Thread = typename D::Thread;
  using Sync = typename D::Sync;

  ~World() {
    for (auto& [name, cell] : cells_) d.Forget(cell);
  }

  Thread& T(uint32_t number) {
    if (threads_[number] == nullptr) {
      threads_[number] = std::make_unique<Thread>(d, Tid{number});
      d.OnStart(*threads_[number]);
    }
    return *threads_[number];
  }
  Thread& Fork(uint32_t parent, uint32_t child) {
    threads_[child] = std::make_unique<Thread>(d, Tid{child});
    d.OnFork(T(parent), *threads_[child]);
    return *threads_[child];
  }
  Sync& S(const std::string& name) {
    if (syncs_[name] == nullptr) {
      syncs_[name] = std::make_unique<Sync>(d);
      names_[IdOf(syncs_[name]->element(ElementKind::kCarried))] = name;
    }
    return *syncs_[name];
  }
  void Lock(uint32_t thread, const std::string& name) { d.OnLock(T(thread), S(name), LockMode::kExclusive); }
  void Unlock(uint32_t thread, const std::string& name) { d.OnUnlock(T(thread), S(name), LockMode::kExclusive); }
  void LockAndUnlock(uint32_t thread, const std::string& name) {
    Lock(thread, name);
    Unlock(thread, name);
  }

  // Did it race? The record is then of that race.
  bool Write(uint32_t thread, const std::string& name, AccessOrigin origin = AccessOrigin::kProgram) {
    return Any(d.OnAccess(
        T(thread), cells_[name],
        Access{.granule = Addr{0x1000}, .bytes = kAllBytes, .kind = AccessKind::kWrite, .origin = origin}, record));
  }

  // "T1, m from T1, T2 from m", of the race that the thread has just met; "forgotten".
  std::string Owners(uint32_t thread) {
    RaceOwners owners;
    if (!d.FindOwners(T(thread), record.earlier[0].thread, Epoch{record.earlier[0].label}, owners)) return "forgotten";
    EXPECT_EQ(T(thread).counts[D::kContradiction], 0u);
    std::string text;
    for (uint32_t i = 0; i < owners.count; ++i) {
      text += (i == 0 ? "" : ", ") + NameOf(owners.elements[i]);
      if (owners.givers[i] != kNoElement) text += " from " + NameOf(owners.givers[i]);
    }
    if (owners.more != 0) text += ", " + std::to_string(owners.more) + " more";
    return text;
  }

  D d;
  RaceRecord record{};

 private:
  std::string NameOf(Element element) {
    if (KindOf(element) == ElementKind::kThread) return "T" + std::to_string(IdOf(element));
    if (KindOf(element) == ElementKind::kFence) return "fence of T" + std::to_string(IdOf(element));
    if (KindOf(element) == ElementKind::kCommit) return "commit";
    return names_[IdOf(element)];
  }

  std::map<std::string, PackedCell<PlainMem>> cells_;
  std::map<uint64_t, std::string> names_;
  std::map<std::string, std::unique_ptr<Sync>> syncs_;
  std::map<uint32_t, std::unique_ptr<Thread>> threads_;
};

using Real = World<OwnershipLogLimits>;
using Tiny = World<TinyLog>;

TEST(GoldilocksOnlineTest, OwnershipMovesFromThreadToLockToThread) {
  Real world;
  world.Write(1, "x");
  world.LockAndUnlock(1, "m");
  world.LockAndUnlock(2, "m");
  world.LockAndUnlock(2, "n");
  world.LockAndUnlock(3, "o");  // from nobody who has it
  ASSERT_TRUE(world.Write(3, "x"));
  EXPECT_EQ(world.Owners(3), "T1, m from T1, T2 from m, n from T2");
}

TEST(GoldilocksOnlineTest, WhatWasHandedOnBeforeTheAccessDoesNotCount) {
  Real world;
  world.LockAndUnlock(1, "m");
  world.LockAndUnlock(2, "m");
  world.Write(1, "x");
  ASSERT_TRUE(world.Write(2, "x"));
  EXPECT_EQ(world.Owners(2), "T1");
}

TEST(GoldilocksOnlineTest, AStoreTakesOutWhatTheValueCarried) {
  Real world;
  world.Write(1, "x");
  world.d.OnReleaseStore(world.T(1), world.S("flag"));
  world.d.OnReleaseStore(world.T(2), world.S("flag"));
  world.d.OnAcquire(world.T(3), world.S("flag"));
  ASSERT_TRUE(world.Write(3, "x"));
  EXPECT_EQ(world.Owners(3), "T1");
}

TEST(GoldilocksOnlineTest, FencesAreTheirThreadsOwnAffair) {
  Real world;
  world.Write(1, "x");
  world.d.OnReleaseFence(world.T(1));
  world.d.OnRelaxedStore(world.T(1), world.S("flag"));
  world.d.OnRelaxedLoad(world.T(2), world.S("flag"));
  world.d.OnAcquireFence(world.T(2));
  ASSERT_TRUE(world.Write(3, "x"));
  EXPECT_EQ(world.Owners(3), "T1, flag from fence of T1, T2 from flag");
}

TEST(GoldilocksOnlineTest, ThreadsInheritAndAreInherited) {
  Real world;
  world.T(1);
  world.Write(1, "x");
  Real::Thread& child = world.Fork(1, 2);
  world.d.OnEnd(child);
  world.d.OnJoin(world.T(3), child);
  ASSERT_TRUE(world.Write(4, "x"));
  EXPECT_EQ(world.Owners(4), "T1, T2 from T1, T3 from T2");
}

TEST(GoldilocksOnlineTest, ATransactionHandsOn) {
  Real world;
  const Footprint bytes{.addr = Addr{0x2000}, .size = 8, .kind = AccessKind::kWrite};
  const auto commit = [&](uint32_t thread) {
    world.d.OnCommitBegin(world.T(thread), &bytes, 1);
    world.d.OnCommitEnd(world.T(thread), &bytes, 1);
  };
  world.Write(1, "x");
  commit(1);
  commit(2);
  ASSERT_TRUE(world.Write(3, "x"));
  EXPECT_EQ(world.Owners(3), "T1, commit from T1, T2 from commit, commit from T2");
}

TEST(GoldilocksOnlineTest, TheFirstOwnersAreTold) {
  Real world;
  world.Write(1, "x");
  for (int i = 0; i < 20; ++i) world.LockAndUnlock(1, "m" + std::to_string(i));
  ASSERT_TRUE(world.Write(2, "x"));
  EXPECT_EQ(world.Owners(2),
            "T1, m0 from T1, m1 from T1, m2 from T1, m3 from T1, m4 from T1, m5 from T1, m6 from T1, 13 more");
}

TEST(GoldilocksOnlineTest, ALogThatIsFullForgetsWhatIsOldest) {
  Tiny world;
  world.Write(1, "x");
  world.LockAndUnlock(1, "m");
  for (int i = 0; i < 100; ++i) world.LockAndUnlock(2, "n");
  ASSERT_TRUE(world.Write(3, "x"));
  EXPECT_EQ(world.Owners(3), "forgotten");  // T1's event is still there: what T2 did with it is not
  world.Write(1, "y");
  world.LockAndUnlock(1, "m");
  ASSERT_TRUE(world.Write(3, "y"));
  EXPECT_EQ(world.Owners(3), "T1, m from T1");
  world.Write(1, "z");
  for (int i = 0; i < 100; ++i) world.LockAndUnlock(1, "n");
  ASSERT_TRUE(world.Write(3, "z"));
  EXPECT_EQ(world.Owners(3), "forgotten");
  EXPECT_EQ(world.T(3).counts[Tiny::D::kForgotten], 2u);
  EXPECT_EQ(world.T(3).counts[Tiny::D::kEvaluated], 1u);
}

TEST(GoldilocksOnlineTest, AThreadThatHasMetNobodyIsNotTakenForAnOldOne) {
  Tiny world;
  world.LockAndUnlock(1, "m");
  for (int i = 0; i < 1000; ++i) world.LockAndUnlock(2, "n");
  world.Write(1, "x");
  world.LockAndUnlock(1, "m");
  world.LockAndUnlock(2, "m");
  for (int i = 0; i < 4; ++i) world.LockAndUnlock(2, "n");
  ASSERT_TRUE(world.Write(3, "x"));
  EXPECT_EQ(world.Owners(3), "T1, m from T1, T2 from m, n from T2");
}

TEST(GoldilocksOnlineTest, HandedOnToNobodyIsKnownHoweverFullTheLogIs) {
  Tiny world;
  world.Write(1, "x");
  for (int i = 0; i < 100; ++i) world.LockAndUnlock(2, "n");
  ASSERT_TRUE(world.Write(3, "x"));
  EXPECT_EQ(world.Owners(3), "T1");
}

TEST(GoldilocksOnlineTest, AnEndedThreadThatWasJoinedLongAgoIsForgotten) {
  Tiny world;
  world.T(1);
  world.Fork(1, 2);
  world.Write(2, "x");
  world.d.OnEnd(world.T(2));
  world.d.OnJoin(world.T(1), world.T(2));
  ASSERT_TRUE(world.Write(3, "x"));
  EXPECT_EQ(world.Owners(3), "T2, T1 from T2");
  world.T(1);
  world.Fork(1, 4);
  world.Write(4, "y");
  world.d.OnEnd(world.T(4));
  world.d.OnJoin(world.T(1), world.T(4));
  for (int i = 0; i < 100; ++i) world.LockAndUnlock(1, "n");
  ASSERT_TRUE(world.Write(3, "y"));
  EXPECT_EQ(world.Owners(3), "forgotten");
}

TEST(GoldilocksOnlineTest, OwnersAreFoundAcrossSlots) {
  Real world;
  world.d.slots().LimitTimes(40);
  world.Write(1, "before");
  for (int i = 0; i < 39; ++i) world.LockAndUnlock(1, "m");
  ASSERT_TRUE(world.d.NeedsRenewal(world.T(1)));
  world.Write(1, "last");
  world.d.Renew(world.T(1));
  world.Write(1, "after");
  world.LockAndUnlock(1, "n");
  for (const char* name : {"before", "last", "after"}) {
    ASSERT_TRUE(world.Write(2, name));
    EXPECT_EQ(world.Owners(2), name == std::string("before") ? "T1, m from T1, n from T1" : "T1, n from T1");
  }
}

TEST(GoldilocksOnlineTest, AnEraForgetsAll) {
  Tiny world;
  world.Write(1, "x");
  world.LockAndUnlock(1, "m");
  for (int i = 0; i < 100; ++i) world.LockAndUnlock(2, "n");
  world.d.BeginEra();
  for (const uint32_t thread : {1, 2, 3}) world.d.Restart(world.T(thread));
  world.Write(1, "y");
  world.LockAndUnlock(1, "o");
  ASSERT_TRUE(world.Write(3, "y"));
  EXPECT_EQ(world.Owners(3), "T1, o from T1");
}

TEST(GoldilocksOnlineTest, ALongRunTakesNoMoreMemory) {
  Tiny world;
  for (uint32_t thread = 1; thread <= 6; ++thread) world.T(thread);
  const auto run = [&] {
    for (int i = 0; i < 10'000; ++i) {
      const auto thread = static_cast<uint32_t>(1 + i % 6);
      world.LockAndUnlock(thread, "m");
      world.d.OnReleaseStore(world.T(thread), world.S("flag"));
    }
  };
  run();
  const uint64_t blocks = world.d.log().blocks();
  const size_t bytes = world.d.arena().in_use();
  EXPECT_LE(blocks, TinyLog::kBlocks + 6);
  run();
  EXPECT_EQ(world.d.log().blocks(), blocks);
  EXPECT_EQ(world.d.arena().in_use(), bytes);
  for (uint32_t thread = 7; thread < 1000; ++thread) {  // who has ended keeps nothing
    world.Fork(1, thread);
    world.d.OnEnd(world.T(thread));
    world.d.OnJoin(world.T(1), world.T(thread));
  }
  EXPECT_LE(world.d.log().blocks(), blocks + 1);
}

// Threads append while another one asks: what was before the question is in the answer, and nothing is torn.
TEST(GoldilocksOnlineTest, AsksWhileOthersGoOn) {
  using Log = OwnershipLog<AtomicMem, TinyLog>;
  Arena<AtomicMem> arena;
  Log log(arena);
  constexpr uint32_t kThreads = 4;
  std::atomic<bool> is_over = false;
  std::vector<std::thread> threads;
  for (uint32_t id = 1; id <= kThreads; ++id) {
    threads.emplace_back([&, id] {
      Log::ThreadOwnership mine{
          .thread = Tid{id}, .turn = {}, .now = MakeEpoch(Slot{static_cast<uint16_t>(id)}, Time{1}), .block = nullptr};
      const Element lock = MakeElement(ElementKind::kExclusive, id);
      for (uint64_t time = 1; !is_over; ++time) {
        mine.now = MakeEpoch(Slot{static_cast<uint16_t>(id)}, Time{time});
        log.Append(mine, mine.turn, ThreadElement(mine.thread), lock, nullptr);
      }
      log.End(mine);
    });
  }
  Log::ThreadOwnership own{.thread = Tid{9}, .turn = {}, .now = MakeEpoch(Slot{9}, Time{1}), .block = nullptr};
  uint64_t known = 0;
  for (uint64_t time = 1; time <= 20'000; ++time) {
    own.now = MakeEpoch(Slot{9}, Time{time});
    log.Append(own, own.turn, ThreadElement(Tid{9}), MakeElement(ElementKind::kExclusive, 9), nullptr);
    Log::Owners owners(arena);
    uint64_t walked = 0;
    if (!log.Evaluate(Tid{9}, own.now, owners, walked)) continue;
    ++known;
    ASSERT_EQ(owners.size(), 2u);
    ASSERT_NE(owners.Find(Raw(MakeElement(ElementKind::kExclusive, 9))), nullptr);
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  log.End(own);
  EXPECT_LE(log.blocks(), TinyLog::kBlocks + kThreads + 1);
  Log::Owners owners(arena);
  uint64_t walked = 0;
  EXPECT_TRUE(log.Evaluate(Tid{9}, MakeEpoch(Slot{9}, Time{20'001}), owners, walked));  // nothing since
  RecordProperty("known", std::to_string(known));
}

}  // namespace
}  // namespace redflag
