// The contract, on every detector of list.def.
#include "detectors/detector.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "detectors/typed_list.h"
#include "offline/replay.h"

namespace redflag {
namespace {

template <class D>
class DetectorTest : public testing::Test {
 protected:
  static Access Write(Addr addr) { return Access{.granule = addr, .bytes = kAllBytes, .kind = AccessKind::kWrite}; }

  // A stretch of a program that uses everything once, without a race under any discipline: one thread at a
  // time.
  static std::vector<Event> QuietProgram(uint32_t rounds) {
    std::vector<Event> events;
    const Tid main{0};
    for (uint32_t i = 0; i < rounds; ++i) {
      const Addr x{0x1000 + i % 16 * 64};
      const uint32_t child = i + 1;
      events.push_back(Event::OnMemory(EventKind::kAlloc, main, x, 32));
      events.push_back(Event::OnObject(EventKind::kThreadFork, main, child));
      for (const EventKind kind : {EventKind::kLock, EventKind::kUnlock}) {
        events.push_back(Event::OnObject(kind, Tid{child}, 0));
        events.push_back(Event::OnMemory(EventKind::kWrite, Tid{child}, x, 8));
      }
      events.push_back(Event::OnMemory(EventKind::kAtomicRmw, Tid{child}, x + 16, 4, MemoryOrder::kAcqRel));
      events.push_back(Event::OnThread(EventKind::kFence, Tid{child}, MemoryOrder::kSeqCst));
      events.push_back(Event::OnObject(EventKind::kSignal, Tid{child}, 1));
      events.push_back(Event::OnThread(EventKind::kThreadEnd, Tid{child}));
      events.push_back(Event::OnObject(EventKind::kThreadJoin, main, child));
      events.push_back(Event::OnMemory(EventKind::kTxWrite, main, x, 8));
      events.push_back(Event::OnThread(EventKind::kTxCommit, main));
      events.push_back(Event::OnMemory(EventKind::kFree, main, x, 32));
    }
    return events;
  }
};
TYPED_TEST_SUITE(DetectorTest, AllDetectors);

TYPED_TEST(DetectorTest, MeetsTheConcept) { static_assert(Detector<TypeParam>); }

TYPED_TEST(DetectorTest, EveryRuleHasAName) {
  std::set<std::string> names;
  for (const RuleInfo& rule : TypeParam::kRules) {
    ASSERT_NE(rule.name, nullptr);
    EXPECT_NE(std::strlen(rule.name), 0u);
    EXPECT_TRUE(names.insert(rule.name).second) << "two rules are called " << rule.name;
  }
}

TYPED_TEST(DetectorTest, ZeroedMemoryIsAFreshCell) {
  TypeParam detector;
  typename TypeParam::Thread thread(detector, Tid{0});
  detector.OnStart(thread);
  alignas(typename TypeParam::Cell) unsigned char memory[sizeof(typename TypeParam::Cell)] = {};
  auto& cell = *reinterpret_cast<typename TypeParam::Cell*>(memory);
  RaceRecord record;
  EXPECT_EQ(detector.OnAccess(thread, cell, this->Write(Addr{0x1000}), record), kNoBytes);
  detector.Forget(cell);
}

TYPED_TEST(DetectorTest, OneThreadAtATimeIsNoRace) {
  Replay<TypeParam> replay({Tid{0}});
  uint64_t index = 0;
  for (const Event& event : this->QuietProgram(50)) replay.Step(event, index++);
  EXPECT_TRUE(replay.races().empty());
}

TYPED_TEST(DetectorTest, MemoryFollowsWhatIsAliveNotHowLongItRan) {
  Replay<TypeParam> replay({Tid{0}});
  const std::vector<Event> events = this->QuietProgram(6000);
  uint64_t index = 0;
  size_t early = 0;
  for (const Event& event : events) {
    if (index == events.size() / 4) early = replay.MemoryInUse();
    replay.Step(event, index++);
  }
  // Thread slots keep one tenancy (32 bytes at most) for each thread that ever was, for reports.
  EXPECT_LE(replay.MemoryInUse(), early + size_t{6000} * 32);
}

TYPED_TEST(DetectorTest, CountersMove) {
  Replay<TypeParam> replay({Tid{0}});
  uint64_t index = 0;
  for (const Event& event : this->QuietProgram(3)) replay.Step(event, index++);
  uint64_t total = 0;
  for (const uint64_t count : replay.TotalCounts()) total += count;
  EXPECT_GT(total, 3u);
}

}  // namespace
}  // namespace redflag
