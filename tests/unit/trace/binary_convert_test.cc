#include "trace/binary_convert.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/trace/binary_fixture.h"
#include "trace/compare.h"
#include "trace/event_blocks.h"
#include "trace/text_writer.h"

namespace redflag {
namespace {

class BinaryConvertTest : public BinaryTest {
 protected:
  std::string ToBinary(const Trace& trace) {
    std::string path = Path("trace");
    const auto writer = Create(path);
    EXPECT_EQ(WriteBinaryTrace(trace, *writer), "");
    return path;
  }
  static std::unique_ptr<BinaryTrace> Opened(const std::string& path) {
    auto opened = BinaryTrace::Open(path, {});
    if (auto* trace = std::get_if<std::unique_ptr<BinaryTrace>>(&opened)) return std::move(*trace);
    ADD_FAILURE() << std::get<std::string>(opened);
    return nullptr;
  }
  // The text of a recording, which must be a trace.
  struct Text {
    std::string text;
    std::vector<std::string> notes;
    Trace trace;
  };
  Text TextOfRecording(const std::vector<Event>& events) {
    const std::string path = Path("recording");
    {
      const auto writer = Create(path);
      EventBlocks blocks(*writer);
      uint64_t stamp = 0;
      blocks.AddContext(Tid{0}, 1, 0, 0x401000);
      blocks.AddContext(Tid{0}, 2, 1, 0x402000);
      blocks.AddContext(Tid{0}, 3, 1, 0x403000);
      for (const Event& event : events) EXPECT_TRUE(blocks.Add(event, ++stamp));
      EXPECT_TRUE(blocks.Flush());
      EXPECT_TRUE(writer->Finish("done"));
    }
    Text result;
    std::ostringstream out;
    EXPECT_EQ(WriteAsText(*Opened(path), out, result.notes), "");
    result.text = out.str();
    TraceResult read = ReadTextTraceFromString(result.text, "recording");
    if (const auto* error = std::get_if<TraceError>(&read)) {
      ADD_FAILURE() << FormatError(*error, "recording") << result.text;
    } else {
      result.trace = std::get<Trace>(read);
    }
    return result;
  }
};

std::vector<std::string> TraceFiles() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(REDFLAG_TRACES)) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

Event At(Event event, uint32_t context) {
  event.position = PositionId{context};
  return event;
}
Event OnMemory(EventKind kind, uint32_t thread, uint64_t addr, uint64_t size) {
  return Event::OnMemory(kind, Tid{thread}, Addr{addr}, size);
}
Event OnObject(EventKind kind, uint32_t thread, uint32_t object, uint64_t addr = 0, EventFlag flag = EventFlag::kNone) {
  Event event = Event::OnObject(kind, Tid{thread}, object);
  event.addr = Addr{addr};
  event.flag = flag;
  return event;
}

TEST_F(BinaryConvertTest, TextTracesComeBackTheSame) {
  const std::vector<std::string> files = TraceFiles();
  ASSERT_GT(files.size(), 50u);
  for (const std::string& file : files) {
    std::ifstream in(file);
    const TraceResult read = ReadTextTrace(in, file);
    ASSERT_TRUE(std::holds_alternative<Trace>(read)) << file;
    const Trace& trace = std::get<Trace>(read);
    const auto binary = Opened(ToBinary(trace));
    ASSERT_TRUE(binary->has_names());
    EXPECT_EQ(binary->event_count(), trace.events.size());
    EXPECT_TRUE(std::ranges::equal(binary->initial_threads(), trace.initial_threads));
    const auto loaded = binary->Load();
    ASSERT_TRUE(std::holds_alternative<Trace>(loaded)) << std::get<std::string>(loaded);
    const Trace& again = std::get<Trace>(loaded);
    EXPECT_EQ(FirstDifference(trace, again), std::nullopt) << file;
    EXPECT_EQ(std::memcmp(trace.events.data(), again.events.data(), trace.events.size() * sizeof(Event)), 0) << file;
    EXPECT_EQ(again.name, trace.name);
    EXPECT_EQ(again.lines, trace.lines);
    EXPECT_EQ(again.threads, trace.threads);
    EXPECT_EQ(again.functions, trace.functions);
    EXPECT_EQ(again.texts, trace.texts);
    for (size_t i = 0; i < trace.expectations.size(); ++i)
      EXPECT_EQ(again.expectations[i].line, trace.expectations[i].line);
    std::ostringstream text;
    std::vector<std::string> notes;
    EXPECT_EQ(WriteAsText(*binary, text, notes), "");
    EXPECT_TRUE(notes.empty());
    EXPECT_EQ(text.str(), TextOf(trace)) << file;
  }
}

TEST_F(BinaryConvertTest, NamesMayTakeSeveralBlocks) {
  std::string text = "threads A\n";
  for (int i = 0; i < 30'000; ++i)
    text += "A write v" + std::to_string(i) + std::string(50, 'x') + " @file.cc:" + std::to_string(i) + "\n";
  const TraceResult read = ReadTextTraceFromString(text, "long.trace");
  const Trace& trace = std::get<Trace>(read);
  const auto loaded = Opened(ToBinary(trace))->Load();
  ASSERT_TRUE(std::holds_alternative<Trace>(loaded)) << std::get<std::string>(loaded);
  EXPECT_EQ(FirstDifference(trace, std::get<Trace>(loaded)), std::nullopt);
}

TEST_F(BinaryConvertTest, ATraceThatIsTooLongForTextIsRefused) {
  const TraceResult read = ReadTextTraceFromString("A write x\nA write x\nA write x\n", "t");
  const auto binary = Opened(ToBinary(std::get<Trace>(read)));
  std::ostringstream out;
  std::vector<std::string> notes;
  EXPECT_NE(WriteAsText(*binary, out, notes, {.max_events = 2}).find("more than 2 events"), std::string::npos);
  EXPECT_EQ(WriteAsText(*binary, out, notes, {.max_events = 3}), "");
}

TEST_F(BinaryConvertTest, NamesThatDoNotFitTheEventsAreRefused) {
  const TraceResult read = ReadTextTraceFromString("A lock m\nA write x\n", "t");
  Trace trace = std::get<Trace>(read);
  trace.syncs.clear();
  const auto binary = Opened(ToBinary(trace));
  EXPECT_NE(std::get<std::string>(binary->Load()).find("object 0: there is no such number"), std::string::npos);
  trace = std::get<Trace>(read);
  trace.lines.pop_back();
  EXPECT_NE(std::get<std::string>(BinaryTrace::Open(ToBinary(trace), {})).find("not as many lines as events"),
            std::string::npos);
  trace = std::get<Trace>(read);
  trace.events[0].kind = EventKind::kUnlock;
  EXPECT_NE(std::get<std::string>(Opened(ToBinary(trace))->Load()).find("event 1: lock 'm' is not held"),
            std::string::npos);
}

TEST_F(BinaryConvertTest, ARecordingBecomesText) {
  const Text text = TextOfRecording({
      At(OnMemory(EventKind::kWrite, 0, 0x1000, 8), 2),
      OnObject(EventKind::kThreadFork, 0, 1),
      At(OnMemory(EventKind::kRead, 1, 0x1000, 4), 3),
      OnObject(EventKind::kSignal, 1, 0, 0x5000, EventFlag::kReplaces),
      OnObject(EventKind::kSignal, 1, 4, 0, EventFlag::kNotify),
      OnObject(EventKind::kWait, 0, 4, 0, EventFlag::kNotify),
      OnObject(EventKind::kWait, 0, 0, 0x5000),
      OnObject(EventKind::kLock, 0, 7, 0x6000),
      OnObject(EventKind::kUnlock, 0, 7, 0x6000),
      OnMemory(EventKind::kForget, 0, 0x1000, 4096),
      OnMemory(EventKind::kTold, 1, 0x1000, 0x0f),
      At(OnMemory(EventKind::kWrite, 9, 0x1000, 8), 2),
  });
  EXPECT_EQ(text.text,
            "threads main T9\n"
            "main write 0x1000:8 @ctx:2\n"
            "main fork T1\n"
            "T1 read 0x1000:4 @ctx:3\n"
            "object signal0.5000 at 0x5000\n"
            "T1 signal-store signal0.5000\n"
            "T1 weak-signal signal4\n"
            "main weak-wait signal4\n"
            "main wait signal0.5000\n"
            "object lock7.6000 at 0x6000\n"
            "main lock lock7.6000\n"
            "main unlock lock7.6000\n"
            "main forget 0x1000:4096\n"
            "T1 told 0x1000 0xf\n"
            "T9 write 0x1000:8 @ctx:2\n"
            "# Contexts: the number behind @ctx, the context of the caller, the place in the code.\n"
            "# 1 0 0x401000\n"
            "# 2 1 0x402000\n"
            "# 3 1 0x403000\n");
  EXPECT_TRUE(text.notes.empty());
  EXPECT_EQ(text.trace.events[3].addr, Addr{0x5000});
  EXPECT_EQ(text.trace.events[3].flag, EventFlag::kReplaces);
  EXPECT_EQ(text.trace.events[4].flag, EventFlag::kNotify);
}

TEST_F(BinaryConvertTest, WhatTextCannotSayIsReplacedOrCounted) {
  Event odd = OnMemory(EventKind::kAtomicLoad, 0, 0x9000, 8);
  odd.order = MemoryOrder::kAcqRel;
  const Text text = TextOfRecording({
      OnMemory(EventKind::kAlloc, 0, 0x1000, 64),
      OnMemory(EventKind::kAlloc, 0, 0x0ff0, 64),  // over live memory, from outside
      OnMemory(EventKind::kFree, 0, 0x0ff0, 64),   // not a block of the text
      OnMemory(EventKind::kFree, 0, 0x1000, 32),   // not its size
      OnMemory(EventKind::kRead, 0, 0x2000, 3 << 20), odd, OnObject(EventKind::kLock, 0, 1),
      OnObject(EventKind::kLockDestroy, 0, 1),                                                   // held by itself
      OnObject(EventKind::kUnlock, 0, 2),                                                        // not held
      OnObject(EventKind::kThreadJoin, 0, 5),                                                    // nobody
      OnObject(EventKind::kThreadName, 0, 5),                                                    // no text
      Event::OnThread(EventKind::kFence, Tid{0}),                                                // relaxed
      Event::OnThread(EventKind::kThreadEnd, Tid{0}), OnMemory(EventKind::kRead, 0, 0x2000, 8),  // after its end
  });
  EXPECT_EQ(text.text.substr(0, text.text.find('#')),
            "threads main\n"
            "main alloc 0x1000:64\n"
            "main new-memory 0xff0:16\n"
            "main new-memory 0x1000:48\n"
            "main write 0xff0:64\n"
            "main free 0x1000:64\n"
            "main read 0x2000:1048576\n"
            "main read 0x102000:1048576\n"
            "main read 0x202000:1048576\n"
            "main load 0x9000:8 acquire\n"
            "main lock lock1\n"
            "main unlock lock1\n"
            "main lock-destroy lock1\n"
            "main end\n");
  ASSERT_EQ(text.notes.size(), 2u);
  EXPECT_EQ(text.notes[0],
            "6 events that a text trace cannot have were replaced by others that mean the same (1 alloc, 2 free, 1 "
            "load, 1 lock-destroy, 1 read)");
  EXPECT_EQ(text.notes[1],
            "5 events that a text trace cannot have were left out (1 fence, 1 join, 1 name, 1 read, 1 unlock)");
}

TEST_F(BinaryConvertTest, ARecordingWithoutEventsIsNoText) {
  const std::string path = Path("recording");
  ASSERT_TRUE(Create(path)->Finish("done"));
  std::ostringstream out;
  std::vector<std::string> notes;
  EXPECT_NE(WriteAsText(*Opened(path), out, notes).find("no events"), std::string::npos);
}

}  // namespace
}  // namespace redflag
