#include "offline/analysis.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "events/place.h"
#include "offline/part_file.h"

namespace redflag {
namespace {

// A recording: events one span at a time, and contexts.
class FakeRecording : public EventSource {
 public:
  std::vector<Event> events;
  std::vector<RecordedContext> contexts = {{}};
  std::string error;

  std::unique_ptr<EventStream> Open() const override { return std::make_unique<Stream>(*this); }
  const std::string& name() const override { return name_; }
  uint64_t event_count() const override { return events.size(); }
  std::span<const Tid> initial_threads() const override { return {}; }

  uint32_t Context(uint64_t place, uint32_t caller) {
    contexts.push_back({.place = place, .caller = caller});
    return static_cast<uint32_t>(contexts.size() - 1);
  }
  Event& Add(Event event, uint32_t context) {
    event.position = PositionId{context};
    return events.emplace_back(event);
  }
  void Access(uint32_t thread, EventKind kind, uint64_t addr, uint32_t context) {
    Add(Event::OnMemory(kind, Tid{thread}, Addr{addr}, 8), context);
  }
  void Lock(uint32_t thread, EventKind kind, uint32_t name, uint64_t addr, uint32_t context) {
    Add(Event::OnObject(kind, Tid{thread}, name), context).addr = Addr{addr};
  }

 private:
  class Stream : public EventStream {
   public:
    explicit Stream(const FakeRecording& of) : of_(of) {}
    std::span<const Event> Next() override {
      if (next_ == of_.events.size()) return {};
      return std::span(of_.events).subspan(next_++, 1);
    }
    uint64_t passed() const override { return next_; }
    const std::string& error() const override { return of_.error; }
    const std::vector<RecordedContext>& contexts() const override { return of_.contexts; }

   private:
    const FakeRecording& of_;
    size_t next_ = 0;
  };
  std::string name_ = "fake";
};

Analysis Analyzed(const EventSource& source, const char* detector = "hb", Shard shard = {}, bool verify = false) {
  AnalysisOptions options;
  options.recorded = true;
  options.shard = shard;
  options.verify = verify;
  return FindDetector(detector)->run(source, options);
}

TEST(RecordedAnalysisTest, ThreadsThatNobodyForkedRaceWithOthers) {
  FakeRecording recording;
  const uint32_t mine = recording.Context(0x401000, 0);
  const uint32_t theirs = recording.Context(0x402000, mine);
  recording.Access(0, EventKind::kWrite, 0x1000, mine);
  recording.Access(7, EventKind::kRead, 0x1000, theirs);
  const Analysis analysis = Analyzed(recording);
  ASSERT_EQ(analysis.races.size(), 1u);
  EXPECT_EQ(analysis.races[0].access.context, ContextId{theirs});
  EXPECT_EQ(analysis.races[0].earlier[0].context, ContextId{mine});
  ASSERT_TRUE(analysis.contexts.contains(theirs));
  EXPECT_EQ(analysis.contexts.at(theirs).caller, mine);
}

TEST(RecordedAnalysisTest, RacesThatLookTheSameAreKeptOnceAndCounted) {
  FakeRecording recording;
  const uint32_t here = recording.Context(0x401000, 0);
  Event alloc = Event::OnMemory(EventKind::kAlloc, Tid{0}, Addr{0x10000}, 8000);
  recording.Add(alloc, here);
  for (uint64_t i = 0; i < 1000; ++i) recording.Access(1, EventKind::kWrite, 0x10000 + 8 * i, here);
  for (const uint32_t jobs : {1u, 2u, 5u}) {
    AnalysisOptions options;
    options.recorded = true;
    const Analysis analysis = AnalyzeInParallel(*FindDetector("hb"), recording, options, jobs);
    EXPECT_EQ(analysis.races_found, 1000u);
    ASSERT_EQ(analysis.races.size(), 1u);
    EXPECT_EQ(analysis.races[0].event, 1u);
    EXPECT_EQ(analysis.recorded[0].count, 1000u);
    ASSERT_TRUE(analysis.recorded[0].block);
    EXPECT_EQ(analysis.recorded[0].block->begin, Addr{0x10000});
  }
}

TEST(RecordedAnalysisTest, ALockAtAnAddressIsOneWithTheAtomicThere) {
  FakeRecording recording;
  const uint32_t here = recording.Context(0x401000, 0);
  recording.Access(0, EventKind::kWrite, 0x1000, here);
  recording.Add(Event::OnMemory(EventKind::kAtomicStore, Tid{0}, Addr{0x2000}, 8, MemoryOrder::kRelease), here);
  Event& wait = recording.Add(Event::OnObject(EventKind::kWait, Tid{1}, 3), here);
  wait.addr = Addr{0x2000};
  recording.Access(1, EventKind::kWrite, 0x1000, here);
  EXPECT_TRUE(Analyzed(recording).races.empty());
}

TEST(RecordedAnalysisTest, ForgottenBytesDoNotRace) {
  FakeRecording recording;
  const uint32_t here = recording.Context(0x401000, 0);
  recording.Access(0, EventKind::kWrite, 0x1000, here);
  recording.Add(Event::OnMemory(EventKind::kForget, Tid{0}, Addr{0x1000}, 4096), here);
  recording.Access(1, EventKind::kWrite, 0x1000, here);
  for (const DetectorInfo& detector : Detectors()) {
    EXPECT_TRUE(Analyzed(recording, detector.name).races.empty()) << detector.name;
  }
}

TEST(RecordedAnalysisTest, LocksOfEarlierAccessesAreInTheOrderOfTheirChain) {
  FakeRecording recording;
  const uint32_t take_b = recording.Context(0x401000, 0);
  const uint32_t take_a = recording.Context(0x402000, 0);
  const uint32_t touch = recording.Context(0x403000, 0);
  const uint32_t first = recording.Context(static_cast<uint64_t>(PlaceFlag::kHeld) | take_b, 0);
  const uint32_t second = recording.Context(static_cast<uint64_t>(PlaceFlag::kHeld) | take_a, first);
  const uint32_t under = recording.Context(static_cast<uint64_t>(PlaceFlag::kUnder) | second, touch);
  recording.Lock(0, EventKind::kLock, 9, 0xb0, take_b);
  recording.Lock(0, EventKind::kLock, 4, 0xa0, take_a);
  recording.Access(0, EventKind::kWrite, 0x1000, under);
  recording.Access(1, EventKind::kWrite, 0x1000, touch);
  const Analysis analysis = Analyzed(recording);
  ASSERT_EQ(analysis.recorded.size(), 1u);
  const auto& locks = analysis.recorded[0].locks;
  ASSERT_EQ(locks.size(), 2u);
  EXPECT_TRUE(locks[0].empty());
  ASSERT_EQ(locks[1].size(), 2u);
  EXPECT_EQ(locks[1][0], (RecordedRace::Lock{.addr = Addr{0xb0}, .mode = {}, .taken_at = ContextId{take_b}}));
  EXPECT_EQ(locks[1][1], (RecordedRace::Lock{.addr = Addr{0xa0}, .mode = {}, .taken_at = ContextId{take_a}}));
}

TEST(RecordedAnalysisTest, WhatWasToldIsHeldAgainstWhatIsFound) {
  FakeRecording recording;
  const uint32_t here = recording.Context(0x401000, 0);
  const auto told = [&](uint32_t thread, uint64_t granule) {
    recording.Add(Event::OnMemory(EventKind::kTold, Tid{thread}, Addr{granule}, 0xff), here);
  };
  recording.Access(0, EventKind::kWrite, 0x1000, here);
  recording.Access(0, EventKind::kWrite, 0x2000, here);
  recording.Access(1, EventKind::kWrite, 0x1000, here);
  recording.Access(0, EventKind::kWrite, 0x3000, here);
  told(1, 0x1000);
  recording.Access(1, EventKind::kWrite, 0x2000, here);
  recording.Access(1, EventKind::kWrite, 0x4000, here);
  told(1, 0x4000);
  for (const uint32_t jobs : {1u, 3u}) {
    AnalysisOptions options;
    options.recorded = options.verify = true;
    const Verification found = AnalyzeInParallel(*FindDetector("hb"), recording, options, jobs).verification;
    EXPECT_EQ(found.same, 1u);
    EXPECT_EQ(found.only_online, 1u);
    EXPECT_EQ(found.only_offline, 1u);
    ASSERT_EQ(found.examples.size(), 2u);
    EXPECT_EQ(found.examples[0].granule, Addr{0x2000});
    EXPECT_TRUE(found.examples[1].online);
  }
}

TEST(RecordedAnalysisTest, NonsenseIsSurvivedByEveryDetector) {
  FakeRecording recording;
  const uint32_t here = recording.Context(0x401000, 0);
  const auto object = [&](EventKind kind, uint32_t thread, uint32_t number, uint64_t size = 0) {
    recording.Add(Event::OnObject(kind, Tid{thread}, number), here).size = size;
  };
  object(EventKind::kThreadJoin, 0, 5);
  object(EventKind::kThreadJoin, 0, 0);
  object(EventKind::kThreadFork, 0, 0);
  object(EventKind::kThreadFork, 0, 1);
  object(EventKind::kThreadFork, 0, 1);
  object(EventKind::kBarrierLeave, 1, 2, 2);
  object(EventKind::kBarrierArrive, 1, 2, 3);
  object(EventKind::kBarrierArrive, 0, 2, 1);
  object(EventKind::kBarrierLeave, 0, 2, 1);
  object(EventKind::kUnlock, 0, 3);
  object(EventKind::kIgnoreReadsEnd, 0, 0);
  object(EventKind::kIgnoreWritesEnd, 0, 0);
  object(EventKind::kThreadEnd, 1, 0);
  object(EventKind::kThreadEnd, 1, 0);
  recording.Access(1, EventKind::kWrite, 0x1000, here);
  recording.Access(0, EventKind::kWrite, 0x1000, here);
  object(EventKind::kThreadJoin, 0, 1);
  object(EventKind::kThreadJoin, 0, 1);
  object(EventKind::kThreadJoin, 0, 1);
  object(EventKind::kTxCommit, 0, 0);
  object(EventKind::kWait, 0, 0x00ffffff);
  object(EventKind::kLock, 4000000, 1u << 31);
  for (const DetectorInfo& detector : Detectors()) {
    EXPECT_EQ(Analyzed(recording, detector.name).events, recording.events.size()) << detector.name;
  }
}

TEST(RecordedAnalysisTest, AnErrorOfTheStreamIsOneOfTheAnalysis) {
  FakeRecording recording;
  recording.error = "the file breaks off";
  EXPECT_EQ(Analyzed(recording).error, "the file breaks off");
  AnalysisOptions options;
  EXPECT_EQ(AnalyzeInParallel(*FindDetector("hb"), recording, options, 2).error, "the file breaks off");
}

TEST(PartFileTest, PartsComeBackAsTheyWere) {
  FakeRecording recording;
  const uint32_t here = recording.Context(0x401000, 0);
  recording.Lock(0, EventKind::kLock, 9, 0xb0, here);
  recording.Access(0, EventKind::kWrite, 0x1000, here);
  recording.Access(1, EventKind::kWrite, 0x1000, here);
  recording.Add(Event::OnObject(EventKind::kThreadFork, Tid{0}, 1), here);
  std::vector<Part> parts;
  std::vector<std::string> names;
  for (uint32_t i = 0; i < 2; ++i) {
    Part part;
    part.version = "1";
    part.trace = "fake";
    part.identity = "x";
    part.recorded = true;
    part.shard = {.index = 1 - i, .count = 2};
    part.analysis = Analyzed(recording, "hb", part.shard);
    const std::string path = testing::TempDir() + "/redflag-part-" + std::to_string(i);
    ASSERT_EQ(WritePart(part, path), "");
    auto read = ReadPart(path);
    ASSERT_TRUE(std::holds_alternative<Part>(read)) << std::get<std::string>(read);
    parts.push_back(std::get<Part>(std::move(read)));
    names.push_back(path);
  }
  ASSERT_EQ(SortParts(parts, names), "");
  const Analysis merged = MergeShards({parts[0].analysis, parts[1].analysis});
  const Analysis whole = MergeShards({Analyzed(recording)});
  ASSERT_EQ(merged.races.size(), 1u);
  EXPECT_EQ(std::memcmp(&merged.races[0].access, &whole.races[0].access, sizeof(AccessRecord)), 0);
  EXPECT_EQ(merged.recorded, whole.recorded);
  EXPECT_EQ(merged.locksets, whole.locksets);
  EXPECT_EQ(merged.forks, whole.forks);
  for (size_t i = 0; i < whole.rules.size(); ++i) EXPECT_EQ(merged.rules[i].count, whole.rules[i].count);

  parts[1].shard.index = 0;
  EXPECT_NE(SortParts(parts, names).find("are both shard 1"), std::string::npos);
  parts[1].identity = "y";
  EXPECT_NE(SortParts(parts, names).find("of different traces"), std::string::npos);
}

}  // namespace
}  // namespace redflag
