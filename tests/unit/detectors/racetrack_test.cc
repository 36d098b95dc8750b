// racetrack called directly, without an engine: Figure 3 of the paper step by step, one test for each arrow of the state
// machine, objects and fields, and the settings.
#include "detectors/racetrack.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace redflag {
namespace {

using Phase = TrackState::Phase;
constexpr Addr kObject{0x1000};

template <class Mem>
class World {
 public:
  using D = RaceTrack<Mem>;
  using Thread = typename D::Thread;

  explicit World(const RaceTrackOptions& options = {}, uint64_t object_size = 8)
      : d(options), object_size_(object_size), sync(d) {}

  Thread& Start(uint32_t tid) {
    d.OnStart(New(tid));
    return *threads_.back();
  }
  Thread& Fork(Thread& parent, uint32_t tid) {
    d.OnFork(parent, New(tid));
    return *threads_.back();
  }
  void Join(Thread& t, Thread& child) {
    d.OnEnd(child);
    d.OnJoin(t, child);
  }
  void Lock(Thread& t, uint32_t lock, LockMode mode = LockMode::kExclusive) {
    t.held.Acquire(SyncId{lock}, mode);
    d.OnLock(t, sync, mode);
  }
  void Unlock(Thread& t, uint32_t lock, LockMode mode = LockMode::kExclusive) {
    t.held.Release(SyncId{lock}, mode);
    d.OnUnlock(t, sync, mode);
  }
  // Everything `from` did so far is ordered before what `to` does next, as by a signal and a wait.
  void Order(Thread& from, Thread& to) {
    typename D::Sync message(d);
    d.OnReleaseMerge(from, message);
    d.OnAcquire(to, message);
  }

  ByteMask Touch(Thread& t, AccessKind kind, uint64_t offset = 0, uint64_t size = 8,
                 AccessOrigin origin = AccessOrigin::kProgram) {
    return d.OnAccess(t, cell,
                      Access{.granule = GranuleOf(kObject + offset),
                             .object = kObject,
                             .object_size = object_size_,
                             .bytes = MaskOf(kObject + offset, size),
                             .kind = kind,
                             .origin = origin,
                             .context = ContextId{++accesses}},
                      record);
  }
  ByteMask Read(Thread& t, uint64_t offset = 0, uint64_t size = 8) { return Touch(t, AccessKind::kRead, offset, size); }
  ByteMask Write(Thread& t, uint64_t offset = 0, uint64_t size = 8) {
    return Touch(t, AccessKind::kWrite, offset, size);
  }
  ByteMask WriteUnder(Thread& t, uint32_t lock) {
    Lock(t, lock);
    const ByteMask raced = Write(t);
    Unlock(t, lock);
    return raced;
  }

  TrackState State(uint64_t offset = 0) { return d.StateOf(cell, kObject + offset); }
  Phase PhaseOf(uint64_t offset = 0) { return State(offset).phase(); }
  // C_x.
  std::set<uint32_t> Locks() {
    std::set<uint32_t> locks;
    ForEachLock(d.locksets(), State().locks(), [&](HeldLock lock) { locks.insert(Raw(LockOf(lock))); });
    return locks;
  }
  // S_x, as (slot, time).
  std::set<std::pair<uint32_t, uint64_t>> Threads() {
    std::set<std::pair<uint32_t, uint64_t>> threads;
    const auto add = [&](Epoch label) { threads.insert({Raw(SlotOf(label)), Raw(TimeOf(label))}); };
    if (PhaseOf() == Phase::kSharedModify2) {
      for (const Epoch label : *ThreadsetOf(State())) add(label);
    } else {
      add(State().label());
    }
    return threads;
  }

  D d;
  uint64_t object_size_;
  typename D::Cell cell{};
  typename D::Sync sync;
  RaceRecord record;
  uint32_t accesses = 0;

 private:
  Thread& New(uint32_t tid) {
    threads_.push_back(std::make_unique<Thread>(d, Tid{tid}));
    return *threads_.back();
  }
  std::vector<std::unique_ptr<Thread>> threads_;
};

using Locks = std::set<uint32_t>;
using Threads = std::set<std::pair<uint32_t, uint64_t>>;

constexpr RaceTrackOptions kFields{.object_first = false};
constexpr RaceTrackOptions kBasic{.adaptive_threadset = false, .object_first = false};
constexpr RaceTrackOptions kLocksets{.threadset = false, .object_first = false};

// ---- Figure 3 ----

TEST(RaceTrackFigure3Test, LocksetAndThreadsetAfterEachOfTheSeventeenSteps) {
  World<PlainMem> w(kBasic);
  constexpr uint32_t kA = 5;
  auto& t = w.Start(0);
  auto& u = w.Fork(t, 1);  // 1
  EXPECT_EQ(t.clock.epoch(), MakeEpoch(Slot{0}, Time{2}));
  EXPECT_TRUE(u.clock.Knows(MakeEpoch(Slot{0}, Time{1})));
  EXPECT_FALSE(u.clock.Knows(MakeEpoch(Slot{0}, Time{2})));
  w.Lock(t, kA);                    // 2
  EXPECT_EQ(w.Write(t), kNoBytes);  // 3
  EXPECT_EQ(w.Locks(), Locks{kA});
  EXPECT_EQ(w.Threads(), (Threads{{0, 2}}));
  w.Unlock(t, kA);                  // 4
  w.Lock(u, kA);                    // 5
  EXPECT_EQ(w.Write(u), kNoBytes);  // 6
  EXPECT_EQ(w.Locks(), Locks{kA});
  EXPECT_EQ(w.Threads(), (Threads{{0, 2}, {1, 1}})) << "u knows <t,1>, and not <t,2>";
  w.Unlock(u, kA);                  // 7
  w.Join(t, u);                     // 8
  EXPECT_EQ(w.Write(t), kNoBytes);  // 9
  EXPECT_EQ(w.Locks(), Locks{}) << "the lockset is empty, and one thread has it: no warning";
  EXPECT_EQ(w.Threads(), (Threads{{0, 2}}));
  auto& v = w.Fork(t, 2);  // 10; v takes over u's slot, so the paper's <v,1> is (1, 2) here
  EXPECT_EQ(v.clock.epoch(), MakeEpoch(Slot{1}, Time{2}));
  w.Lock(t, kA);                    // 11
  EXPECT_EQ(w.Write(t), kNoBytes);  // 12
  EXPECT_EQ(w.Locks(), Locks{kA});
  EXPECT_EQ(w.Threads(), (Threads{{0, 3}}));
  w.Unlock(t, kA);                  // 13
  w.Lock(v, kA);                    // 14
  EXPECT_EQ(w.Write(v), kNoBytes);  // 15
  EXPECT_EQ(w.Locks(), Locks{kA});
  EXPECT_EQ(w.Threads(), (Threads{{0, 3}, {1, 2}}));
  w.Unlock(v, kA);  // 16
  w.Join(t, v);     // 17
  EXPECT_EQ(w.Locks(), Locks{kA});
}

TEST(RaceTrackFigure3Test, LocksetsAloneReportTheSameProgram) {
  World<PlainMem> w(kLocksets);
  auto& t = w.Start(0);
  auto& u = w.Fork(t, 1);
  w.WriteUnder(t, 5);
  EXPECT_EQ(w.WriteUnder(u, 5), kNoBytes);
  w.Join(t, u);
  EXPECT_EQ(w.Write(t), kAllBytes) << "the false alarm of 2.3";
}

TEST(RaceTrackBasicTest, TheBasicAlgorithmDoesNotTellReadsFromWrites) {
  World<PlainMem> w(kBasic);
  auto& a = w.Start(0);
  auto& b = w.Start(1);
  w.Read(a);
  EXPECT_EQ(w.Read(b), kAllBytes) << "as Figure 2 is written; Shared-Read is what makes the difference";
}

// ---- The arrows of 2.4.1, on fields ----

class RaceTrackArrowTest : public testing::Test {
 protected:
  using R = RaceTrack<PlainMem>;

  // a and b each write without a lock; at the end the state is Exclusive2 and belongs to a.
  void EnterExclusive2() {
    w_.Write(a_);
    w_.Write(b_);
    w_.Write(a_);
    ASSERT_EQ(w_.PhaseOf(), Phase::kExclusive2);
  }
  // Exclusive2, and then b comes, both under the lock 1.
  void EnterSharedModify2() {
    EnterExclusive2();
    w_.WriteUnder(a_, 1);
    w_.WriteUnder(b_, 1);
    ASSERT_EQ(w_.PhaseOf(), Phase::kSharedModify2);
  }
  uint64_t Count(R::Thread& t, size_t rule) const { return t.counts[rule]; }

  World<PlainMem> w_{kFields};
  R::Thread& a_ = w_.Start(0);
  R::Thread& b_ = w_.Start(1);
  R::Thread& c_ = w_.Start(2);
};

TEST_F(RaceTrackArrowTest, VirginToExclusive0) {
  EXPECT_EQ(w_.PhaseOf(), Phase::kVirgin);
  w_.Read(a_);
  EXPECT_EQ(w_.PhaseOf(), Phase::kExclusive0);
  EXPECT_EQ(w_.State().thread(), Tid{0});
}
TEST_F(RaceTrackArrowTest, Exclusive0Stays) {
  w_.Write(a_);
  w_.Order(a_, b_);  // its clock moves on; Exclusive0 has none
  w_.Write(a_);
  EXPECT_EQ(w_.PhaseOf(), Phase::kExclusive0);
  EXPECT_EQ(Count(a_, R::kE0_E0), 1u);
}
TEST_F(RaceTrackArrowTest, Exclusive0ToExclusive1) {
  w_.Write(a_);
  w_.Write(b_);
  EXPECT_EQ(w_.PhaseOf(), Phase::kExclusive1) << "concurrent or not: Exclusive0 knows no clock to tell";
  EXPECT_EQ(w_.State().thread(), Tid{1});
  EXPECT_EQ(w_.Threads(), (Threads{{1, 1}}));
}
TEST_F(RaceTrackArrowTest, Exclusive1Stays) {
  w_.Write(a_);
  w_.Write(b_);
  w_.Order(b_, c_);
  w_.Write(c_);
  EXPECT_EQ(w_.PhaseOf(), Phase::kExclusive1);
  EXPECT_EQ(w_.State().thread(), Tid{2}) << "passed on";
  w_.Order(c_, a_);
  w_.Write(c_);
  EXPECT_EQ(w_.PhaseOf(), Phase::kExclusive1);
  EXPECT_EQ(w_.Threads(), (Threads{{2, 2}})) << "the label is that of the last access";
}
TEST_F(RaceTrackArrowTest, Exclusive1ToSharedRead) {
  w_.Write(a_);
  w_.Write(b_);
  w_.Lock(c_, 3, LockMode::kShared);
  w_.Read(c_);
  EXPECT_EQ(w_.PhaseOf(), Phase::kSharedRead);
  EXPECT_EQ(w_.Locks(), Locks{3}) << "a read counts locks held for reading";
}
TEST_F(RaceTrackArrowTest, Exclusive1ToSharedModify1) {
  w_.Write(a_);
  w_.Write(b_);
  w_.Lock(c_, 3, LockMode::kShared);
  w_.Lock(c_, 4);
  w_.Write(c_);
  EXPECT_EQ(w_.PhaseOf(), Phase::kSharedModify1);
  EXPECT_EQ(w_.Locks(), Locks{4}) << "a write counts locks held for writing";
}
TEST_F(RaceTrackArrowTest, Exclusive1ToSharedModify1WithoutLocksGoesOnToExclusive2) {
  w_.Write(a_);
  w_.Write(b_);
  EXPECT_EQ(w_.Write(c_), kNoBytes);
  EXPECT_EQ(w_.PhaseOf(), Phase::kExclusive2);
  EXPECT_EQ(Count(c_, R::kE1_SM1), 1u);
  EXPECT_EQ(Count(c_, R::kSM1_E2), 1u);
}
TEST_F(RaceTrackArrowTest, SharedReadStays) {
  w_.Write(a_);
  w_.Write(b_);
  w_.Lock(c_, 1);
  w_.Lock(c_, 2);
  w_.Read(c_);
  EXPECT_EQ(w_.Locks(), (Locks{1, 2}));
  w_.Lock(a_, 2);
  w_.Read(a_);
  EXPECT_EQ(w_.PhaseOf(), Phase::kSharedRead);
  EXPECT_EQ(w_.Locks(), Locks{2});
  w_.Read(b_);
  EXPECT_EQ(w_.PhaseOf(), Phase::kSharedRead) << "reads need no lock";
  EXPECT_EQ(w_.Locks(), Locks{});
}
TEST_F(RaceTrackArrowTest, SharedReadToSharedModify1) {
  w_.Write(a_);
  w_.Write(b_);
  w_.Lock(c_, 1);
  w_.Lock(c_, 2);
  w_.Read(c_);
  w_.WriteUnder(a_, 2);
  EXPECT_EQ(w_.PhaseOf(), Phase::kSharedModify1);
  EXPECT_EQ(w_.Locks(), Locks{2});
}
TEST_F(RaceTrackArrowTest, SharedModify1Stays) {
  w_.Write(a_);
  w_.Write(b_);
  w_.Lock(c_, 1);
  w_.Lock(c_, 2);
  w_.Write(c_);
  w_.WriteUnder(a_, 2);
  EXPECT_EQ(w_.PhaseOf(), Phase::kSharedModify1);
  EXPECT_EQ(w_.Locks(), Locks{2});
  w_.WriteUnder(b_, 2);
  EXPECT_EQ(w_.PhaseOf(), Phase::kSharedModify1);
}
TEST_F(RaceTrackArrowTest, SharedModify1ToExclusive2) {
  w_.Write(a_);
  w_.Write(b_);
  w_.WriteUnder(c_, 1);
  EXPECT_EQ(w_.WriteUnder(a_, 2), kNoBytes) << "the lockset would report; the threadset begins";
  EXPECT_EQ(w_.PhaseOf(), Phase::kExclusive2);
  EXPECT_EQ(w_.Threads(), (Threads{{0, 1}}));
  EXPECT_EQ(w_.Locks(), Locks{2}) << "|S| = 1, so C is L_t";
}
TEST_F(RaceTrackArrowTest, Exclusive2Stays) {
  EnterExclusive2();
  w_.Order(a_, c_);
  w_.WriteUnder(c_, 7);
  EXPECT_EQ(w_.PhaseOf(), Phase::kExclusive2);
  EXPECT_EQ(w_.Threads(), (Threads{{2, 1}}));
  EXPECT_EQ(w_.Locks(), Locks{7});
}
TEST_F(RaceTrackArrowTest, Exclusive2ToSharedModify2) {
  EnterExclusive2();
  w_.Lock(a_, 1);
  w_.Lock(a_, 2);
  w_.Write(a_);
  EXPECT_EQ(w_.WriteUnder(b_, 1), kNoBytes);
  EXPECT_EQ(w_.PhaseOf(), Phase::kSharedModify2);
  EXPECT_EQ(w_.Threads(), (Threads{{0, 1}, {1, 1}}));
  EXPECT_EQ(w_.Locks(), Locks{1}) << "what a held in Exclusive2 counts";
}
TEST_F(RaceTrackArrowTest, SharedModify2Stays) {
  EnterSharedModify2();
  w_.WriteUnder(c_, 1);
  EXPECT_EQ(w_.Threads(), (Threads{{0, 1}, {1, 1}, {2, 1}}));
  w_.Order(a_, b_);
  w_.WriteUnder(b_, 1);
  EXPECT_EQ(w_.PhaseOf(), Phase::kSharedModify2);
  EXPECT_EQ(w_.Threads(), (Threads{{1, 1}, {2, 1}})) << "a's access is ordered before";
  EXPECT_EQ(w_.d.threadsets().size(), 1u) << "sets that are not used any more are gone";
}
TEST_F(RaceTrackArrowTest, SharedModify2ToExclusive2) {
  EnterSharedModify2();
  w_.Order(a_, c_);
  w_.Order(b_, c_);
  EXPECT_EQ(w_.Write(c_), kNoBytes) << "without a lock, and alone";
  EXPECT_EQ(w_.PhaseOf(), Phase::kExclusive2);
  EXPECT_EQ(w_.Threads(), (Threads{{2, 1}}));
  EXPECT_EQ(w_.Locks(), Locks{});
  EXPECT_EQ(w_.d.threadsets().size(), 0u);
  w_.Order(c_, a_);
  EXPECT_EQ(w_.WriteUnder(a_, 9), kNoBytes) << "the lockset began anew";
}
TEST_F(RaceTrackArrowTest, SharedModify2ToReportRace) {
  EnterSharedModify2();
  EXPECT_EQ(w_.WriteUnder(c_, 2), kAllBytes);
  EXPECT_EQ(w_.PhaseOf(), Phase::kRace);
  EXPECT_EQ(w_.State().thread(), Tid{2});
  EXPECT_EQ(w_.d.threadsets().size(), 0u);
  EXPECT_EQ(w_.record.access.thread, Tid{2});
  ASSERT_EQ(w_.record.earlier_count, 2u);
  EXPECT_EQ(w_.record.earlier[0].thread, Tid{1});
  EXPECT_EQ(w_.record.earlier[1].thread, Tid{0});
}
TEST_F(RaceTrackArrowTest, Exclusive2WithoutACommonLockGoesThroughToReportRace) {
  EnterExclusive2();
  EXPECT_EQ(w_.Read(b_), kAllBytes);
  EXPECT_EQ(Count(b_, R::kE2_SM2), 1u);
  EXPECT_EQ(Count(b_, R::kRace), 1u);
}

// ---- After a race: 3.6 ----

TEST_F(RaceTrackArrowTest, AfterARaceOtherThreadsAreReportedUpToThreeTimes) {
  EnterExclusive2();
  EXPECT_EQ(w_.Write(b_), kAllBytes);
  EXPECT_EQ(w_.Write(b_), kNoBytes) << "the same thread has nothing to add";
  EXPECT_EQ(w_.Read(a_), kAllBytes) << "the stack of the other side";
  ASSERT_EQ(w_.record.earlier_count, 1u);
  EXPECT_EQ(w_.record.earlier[0].thread, Tid{1});
  EXPECT_EQ(w_.Read(a_), kNoBytes);
  EXPECT_EQ(w_.Write(c_), kAllBytes);
  EXPECT_EQ(w_.Write(a_), kNoBytes) << "three are enough";
  EXPECT_EQ(Count(a_, R::kRaceQuiet), 2u);
}
TEST_F(RaceTrackArrowTest, TheOtherSideIsOneThatIsNotOrderedIfWeKnowOne) {
  EnterSharedModify2();  // S = {a, b}
  w_.Order(b_, c_);
  w_.WriteUnder(c_, 1);  // S = {a, c}
  w_.Order(c_, b_);
  EXPECT_EQ(w_.Write(b_), kAllBytes) << "S = {a, b}";
  ASSERT_EQ(w_.record.earlier_count, 1u);
  EXPECT_EQ(w_.record.earlier[0].thread, Tid{2}) << "a's access is forgotten: the last one of another thread";
}

// ---- Locks, transactions, atomics, order ----

TEST_F(RaceTrackArrowTest, LocksGiveNoOrder) {
  w_.Write(a_);
  w_.WriteUnder(b_, 1);
  w_.Lock(c_, 1);
  w_.Unlock(c_, 1);
  w_.Read(c_);
  EXPECT_EQ(w_.PhaseOf(), Phase::kSharedRead) << "b's critical section came first by chance";
}
TEST_F(RaceTrackArrowTest, AnnotatedLocksGiveOrder) {
  w_.d.OnPureHbLock(a_, w_.sync);
  w_.Write(a_);
  w_.WriteUnder(b_, 1);
  w_.Lock(c_, 1);
  w_.Unlock(c_, 1);
  w_.Read(c_);
  EXPECT_EQ(w_.PhaseOf(), Phase::kExclusive1);
}
TEST_F(RaceTrackArrowTest, TransactionsHoldALockOfTheirOwn) {
  EnterExclusive2();
  const auto commit = [&](R::Thread& t) { return w_.Touch(t, AccessKind::kWrite, 0, 8, AccessOrigin::kTransaction); };
  commit(a_);
  EXPECT_EQ(commit(b_), kNoBytes);
  EXPECT_EQ(w_.PhaseOf(), Phase::kSharedModify2);
  EXPECT_EQ(w_.Write(c_), kAllBytes);
}
TEST_F(RaceTrackArrowTest, AtomicAccessesAreNotTracked) {
  w_.Touch(a_, AccessKind::kAtomicWrite);
  EXPECT_EQ(w_.PhaseOf(), Phase::kVirgin);
  EnterExclusive2();
  EXPECT_EQ(w_.Touch(b_, AccessKind::kAtomicRead), kNoBytes);
  EXPECT_EQ(w_.PhaseOf(), Phase::kExclusive2);
}
TEST_F(RaceTrackArrowTest, BytesHaveStatesOfTheirOwn) {
  w_.Write(a_, 0, 4);
  w_.Write(b_, 2, 4);
  EXPECT_EQ(w_.PhaseOf(0), Phase::kExclusive0);
  EXPECT_EQ(w_.PhaseOf(2), Phase::kExclusive1);
  EXPECT_EQ(w_.PhaseOf(5), Phase::kExclusive0);
  EXPECT_EQ(w_.PhaseOf(6), Phase::kVirgin);
}

// ---- Objects and fields: 2.4.2 ----

TEST(RaceTrackObjectTest, AWarningAboutAnObjectIsCountedAndTheFieldsBegin) {
  World<PlainMem> w({}, 16);
  auto& a = w.Start(0);
  auto& b = w.Start(1);
  // Each thread has a field of its own: together they look like a race.
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(w.Write(a, 0, 4), kNoBytes);
    EXPECT_EQ(w.Write(b, 8, 4), kNoBytes);
  }
  EXPECT_EQ(w.cell.state.phase(), Phase::kRefined);
  EXPECT_EQ(b.counts[RaceTrack<PlainMem>::kObjectWarning], 1u);
  EXPECT_EQ(w.PhaseOf(0), Phase::kVirgin);
  EXPECT_EQ(w.PhaseOf(8), Phase::kVirgin) << "the access that refined does not count for its field";
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(w.Write(a, 0, 4), kNoBytes);
    EXPECT_EQ(w.Write(b, 8, 4), kNoBytes);
  }
  EXPECT_EQ(w.PhaseOf(0), Phase::kExclusive0) << "a false alarm less";
}
TEST(RaceTrackObjectTest, ARaceOnAFieldIsReportedWhenItIsRepeatedAfterTheRefinement) {
  World<PlainMem> w;
  auto& a = w.Start(0);
  auto& b = w.Start(1);
  std::vector<uint32_t> reported;
  for (uint32_t i = 1; i <= 8; ++i) {
    if (Any(w.Write(i % 2 == 1 ? a : b))) reported.push_back(i);
  }
  EXPECT_EQ(reported, std::vector<uint32_t>{8}) << "four for the object, four for the field";
}
TEST(RaceTrackObjectTest, ObjectLevelWarningsAreReportedIfAskedFor) {
  World<PlainMem> w({.report_object_level = true}, 16);
  auto& a = w.Start(0);
  auto& b = w.Start(1);
  w.Write(a, 0, 4);
  w.Write(b, 8, 4);
  w.Write(a, 0, 4);
  EXPECT_EQ(w.Write(b, 8, 4), MaskOf(kObject + 8, 4));
  ASSERT_EQ(w.record.earlier_count, 1u);
  EXPECT_EQ(w.record.earlier[0].thread, Tid{0});
}
TEST(RaceTrackObjectTest, ALifetimeBeginsWithAVirginObjectAndGivesEverythingBack) {
  World<PlainMem> w({}, 64);
  auto& a = w.Start(0);
  auto& b = w.Start(1);
  const size_t before = w.d.arena().in_use();
  for (int i = 0; i < 2; ++i) {
    w.Write(a, 0, 4);
    w.Write(b, 8, 4);
  }
  for (uint64_t offset = 0; offset < 64; offset += 8) {  // into Shared-Modify2, with bytes that go separate ways
    for (auto* t : {&a, &b, &a}) w.Write(*t, offset);
    w.Lock(a, 1);
    w.Write(a, offset);
    w.Unlock(a, 1);
    w.Lock(b, 1);
    w.Write(b, offset, 3);
    w.Write(b, offset, 8);
    w.Unlock(b, 1);
    ASSERT_EQ(w.PhaseOf(offset), Phase::kSharedModify2);
  }
  EXPECT_EQ(w.d.threadsets().size(), 1u) << "one set for all of them";
  EXPECT_GT(w.d.arena().in_use(), before);
  w.d.Revive(w.cell, kAllBytes, w.d.OnLifetime(a, kObject, 64, AccessOrigin::kAlloc, ContextId{}));
  EXPECT_EQ(w.PhaseOf(), Phase::kVirgin);
  EXPECT_EQ(w.d.threadsets().size(), 0u);
  // What stays are the locksets that were named and the empty table of threadsets.
  EXPECT_LE(w.d.arena().in_use(), before + 8192);
}

// ---- Settings ----

TEST(RaceTrackSettingsTest, TheRowsOfTable2DifferInWhatTheyReport) {
  // Object passing by fork and join, without locks, of two fields that belong to two threads.
  const auto reports = [](const RaceTrackOptions& options) {
    World<PlainMem> w(options, 16);
    auto& main = w.Start(0);
    uint64_t count = 0;
    uint32_t tid = 0;
    for (int round = 0; round < 4; ++round) {
      count += Any(w.Write(main, 0));
      auto& worker = w.Fork(main, ++tid);
      count += Any(w.Write(worker, 0));
      count += Any(w.Write(main, 8));
      w.Join(main, worker);
    }
    return count;
  };
  EXPECT_GT(reports(kLocksets), 0u);
  EXPECT_EQ(reports(kFields), 0u);
  EXPECT_EQ(reports(kBasic), 0u);
  EXPECT_EQ(reports({}), 0u);
}

TEST(RaceTrackSettingsTest, OfALargeArrayTheEndsAndTheMiddleAreTracked) {
  World<PlainMem> w({.object_first = false, .array_sample = 2}, 10 * 8);
  auto& a = w.Start(0);
  for (uint64_t i = 0; i < 10; ++i) w.Write(a, i * 8);
  std::vector<uint64_t> tracked;
  for (uint64_t i = 0; i < 10; ++i) {
    if (w.PhaseOf(i * 8) != Phase::kVirgin) tracked.push_back(i);
  }
  EXPECT_EQ(tracked, (std::vector<uint64_t>{0, 1, 4, 5, 8, 9}));
  EXPECT_EQ(a.counts[RaceTrack<PlainMem>::kUnsampled], 4u);
}
TEST(RaceTrackSettingsTest, AnArrayOfUpToThreeTimesTheSampleIsTrackedWhole) {
  World<PlainMem> w({.object_first = false, .array_sample = 2}, 6 * 8);
  auto& a = w.Start(0);
  for (uint64_t i = 0; i < 6; ++i) w.Write(a, i * 8);
  EXPECT_EQ(a.counts[RaceTrack<PlainMem>::kUnsampled], 0u);
}
TEST(RaceTrackSettingsTest, TheSampleGoesByTheGranulesThatAnObjectTouches) {
  constexpr Access kIn{.granule = Addr{0x1010}, .object = Addr{0x1004}, .object_size = 32, .bytes = kAllBytes};
  static_assert(!IsSampled(1, Access{.granule = Addr{0x1008}, .object = Addr{0x1004}, .object_size = 32}));
  static_assert(IsSampled(1, kIn), "0x1000-0x1020 are 5 granules: 0, 2 and 4");
  static_assert(IsSampled(0, kIn));
}

TEST(RaceTrackSettingsTest, ABoundedClockForgetsAndThenSeesConcurrencyThatIsNotThere) {
  for (const uint32_t bound : {0u, 4u}) {
    World<PlainMem> w({.object_first = false, .clock_bound = bound});
    auto& first = w.Start(0);
    auto& main = w.Start(1);
    auto& other = w.Start(2);
    w.Write(other);
    w.Write(first);
    w.Order(first, main);                                                 // main knows of first's write ...
    for (uint32_t tid = 3; tid < 10; ++tid) w.Order(w.Start(tid), main);  // ... and then learns a lot else
    w.Write(main);
    EXPECT_EQ(w.PhaseOf(), bound == 0 ? Phase::kExclusive1 : Phase::kExclusive2);
  }
}
TEST(RaceTrackSettingsTest, ABoundedClockNeverForgetsItsOwnThread) {
  World<PlainMem> w({.object_first = false, .clock_bound = 2});
  auto& first = w.Start(0);
  auto& main = w.Start(1);
  w.Write(first);
  w.Write(main);
  for (uint32_t tid = 3; tid < 10; ++tid) w.Order(w.Start(tid), main);
  w.Write(main);
  EXPECT_EQ(w.PhaseOf(), Phase::kExclusive1);
}

// ---- The contract ----

TEST(RaceTrackContractTest, EverySynchronizationMayChangeWhatARepetitionMeans) {
  World<PlainMem> w;
  auto& a = w.Start(0);
  EXPECT_EQ(w.d.OnLock(a, w.sync, LockMode::kExclusive), Tag::kChanged) << "C is set from L_t in Exclusive2";
  EXPECT_EQ(w.d.OnUnlock(a, w.sync, LockMode::kExclusive), Tag::kChanged);
  EXPECT_EQ(w.d.OnAcquire(a, w.sync), Tag::kChanged) << "S shrinks when something is learnt";
  EXPECT_EQ(w.d.OnReleaseStore(a, w.sync), Tag::kChanged);
  EXPECT_EQ(w.d.OnRelaxedLoad(a, w.sync), Tag::kKept);
}

// The runtime's policy under real threads: whatever the interleaving, nothing is lost and every set is given back.
TEST(RaceTrackConcurrentTest, SimultaneousAccessesKeepTheStateWhole) {
  for (int round = 0; round < 100; ++round) {
    World<AtomicMem> w(kFields);
    using D = RaceTrack<AtomicMem>;
    std::vector<D::Thread*> threads;
    for (uint32_t tid = 0; tid < 3; ++tid) threads.push_back(&w.Start(tid));
    std::atomic<int> ready{0};
    std::atomic<int> reports{0};
    const auto body = [&](D::Thread& t) {
      RaceRecord record;
      ready.fetch_add(1);
      while (ready.load() != 3) std::this_thread::yield();
      for (int i = 0; i < 50; ++i) {
        reports += Any(w.d.OnAccess(t, w.cell,
                                    Access{.granule = kObject,
                                           .object = kObject,
                                           .object_size = 8,
                                           .bytes = i % 2 == 0 ? kAllBytes : ByteMask{0x0f},
                                           .kind = AccessKind::kWrite},
                                    record));
      }
    };
    std::vector<std::thread> running;
    for (D::Thread* t : threads) running.emplace_back([&, t] { body(*t); });
    for (std::thread& thread : running) thread.join();
    ASSERT_LE(reports.load(), 6) << "three for each half";
    w.d.Forget(w.cell);
    ASSERT_EQ(w.d.threadsets().size(), 0u);
  }
}

}  // namespace
}  // namespace redflag
