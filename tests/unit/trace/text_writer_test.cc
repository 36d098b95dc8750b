#include "trace/text_writer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <variant>

#include "trace/checker.h"
#include "trace/compare.h"
#include "trace/text_lexer.h"
#include "trace/text_reader.h"

namespace redflag {
namespace {

Trace Read(std::string_view text, std::string_view name = "t") {
  TraceResult result = ReadTextTraceFromString(text, name);
  if (const TraceError* error = std::get_if<TraceError>(&result)) {
    ADD_FAILURE() << FormatError(*error, name) << "in\n" << text;
    return {};
  }
  return std::get<Trace>(std::move(result));
}

// A trace that was read, written and read again is the same, down to its ids.
void ExpectRoundTrip(std::string_view text) {
  Trace trace = Read(text);
  std::string written = TextOf(trace);
  Trace again = Read(written);
  EXPECT_EQ(FirstDifference(trace, again), std::nullopt) << written;
  EXPECT_EQ(trace.threads, again.threads);
  EXPECT_EQ(trace.functions, again.functions);
  EXPECT_EQ(trace.texts, again.texts);
  ASSERT_EQ(trace.events.size(), again.events.size());
  for (size_t i = 0; i < trace.events.size(); ++i) {
    EXPECT_EQ(std::memcmp(&trace.events[i], &again.events[i], sizeof(Event)), 0) << i << " of\n" << written;
  }
  EXPECT_EQ(TextOf(again), written);
}

TEST(TextWriterTest, EveryVerbIsWritten) {
  const char* text =
      "threads A B\n"
      "var x 8 at 0x10000\n"
      "A read x @f:1\n"
      "A write x+4 @f:1\n"
      "A load x:4 acquire @f:1\n"
      "A store x+4:2 release @f:1\n"
      "A rmw 0x500:4 relaxed @f:1\n"
      "A fence seq_cst @f:1\n"
      "A lock m @f:1\n"
      "A unlock m @f:1\n"
      "A rdlock m @f:1\n"
      "A rdunlock m @f:1\n"
      "A signal h @f:1\n"
      "A wait h @f:1\n"
      "A notify c @f:1\n"
      "A wake c @f:1\n"
      "A post s @f:1\n"
      "A take s @f:1\n"
      "barrier b 2\n"
      "A arrive b @f:1\n"
      "B arrive b @f:1\n"
      "A leave b @f:1\n"
      "B leave b @f:1\n"
      "A fork C @f:1\n"
      "C name \"it's \\\"C\\\"\" @f:1\n"
      "C end @f:1\n"
      "A join C @f:1\n"
      "A commit r x w x:2 @f:1\n"
      "A tx-read x @f:1\n"
      "B read x @f:1\n"
      "A commit w x @f:1\n"
      "A alloc p 16 at 0x20000 @f:1\n"
      "A free p @f:1\n"
      "A alloc 0x30000:16 @f:1\n"
      "A free 0x30000:16 @f:1\n"
      "A enter ns::f @f:1\n"
      "A enter \"g(int)\" @f:1\n"
      "A exit @f:1\n"
      "A ignore-reads begin @f:1\n"
      "A ignore-reads end @f:1\n"
      "A ignore-writes begin @f:1\n"
      "A ignore-writes end @f:1\n"
      "A benign x @f:1\n"
      "A expect-race x @f:1\n"
      "A publish x @f:1\n"
      "A unpublish x @f:1\n"
      "A new-memory x @f:1\n"
      "A pure-hb m @f:1\n"
      "A lock-create m @f:1\n"
      "A lock-destroy m @f:1\n"
      "A read x @f:1 !race(hb,eraser) !norace !miss(djit): a # reason\n";
  EXPECT_EQ(TextOf(Read(text)), text);
}

TEST(TextWriterTest, WhatHasTwoSpellingsIsWrittenInOne) {
  EXPECT_EQ(TextOf(Read("T lock m @f:1\nT condvar-wait c m @f:1\nT cas x acq_rel acquire fail @f:1")),
            "threads T\nT lock m @f:1\nT wake c @f:1\nvar x 8 at 0x10000\nT load x acquire @f:1\n");
}

TEST(TextWriterTest, ReadingWhatIsWrittenGivesTheSameTrace) {
  ExpectRoundTrip("T read x");
  ExpectRoundTrip("threads A B C\nvar unused 8\nbarrier unused2 3\nC write y+2:3 !race\nA fork D\nvar late 4");
  ExpectRoundTrip("T commit r a b w c a:4 r d\nT commit w r:8 r w:8 w:4");
  ExpectRoundTrip("threads A B\nA tx-read x\nB commit r x\nA commit r y w z !norace");
  ExpectRoundTrip("T tx-read x @a:1\nT tx-write x @a:2 !race\nT commit r y");
  ExpectRoundTrip("T tx-read x\nvar y 8\nT commit r y");
  ExpectRoundTrip("T read x @\"\":0\nT read x @\"a:5\":7\nT read x @a:5:7\nT read x @\"q\\\"\":1:0");
  ExpectRoundTrip("T name \"\\x00\\xff\\xc2\\x85\\n\\t é\"\nT enter \"\"\nT exit");
}

TEST(TextWriterTest, VariablesAndBlocksInOnePlaceKeepTheirNames) {
  ExpectRoundTrip("var s 64\nvar f 8 at s+8\nT read s\nT read f\nT read s+32\nT read s+4:8\nT read 0x1000c:8");
  ExpectRoundTrip("T alloc p 8\nT read p\nT free p\nT read p\nT alloc p 4\nT read p\nT free 0x10000:4\nT alloc p 80");
  ExpectRoundTrip("T alloc p 8\nT free p\nT alloc q 8 at p\nT read q\nT read p+2\nT free q\nT alloc p 8");
  ExpectRoundTrip("var x 8 at 0x100\nT alloc p 8 at 0x100\nT write x");
  ExpectRoundTrip("var x 8 at 0x100\nvar y 8 at 0x100\nT alloc 0x100:8\nT free 0x100:8\nT alloc 0x100:8\nT write x");
}

TEST(TextWriterTest, ATransactionTooLongForALineIsWrittenInPieces) {
  std::string text = "T commit r";
  for (int i = 0; i < 6000; ++i) text += fmt::format(" v{}", i);
  ExpectRoundTrip(text + "\nT read x");
}

TEST(TextWriterTest, TheLongestNamesStillFitOnALine) {
  std::string name(kMaxNameLength, 'n');
  std::string text;
  for (size_t i = 0; i < kMaxTextLength; ++i) text += "\\xff";
  std::string detectors;
  for (int i = 0; i < 64; ++i) detectors += fmt::format("{}{:a>64}", i == 0 ? "" : ",", i);
  ExpectRoundTrip(fmt::format("{0} name \"{1}\" @\"{1}\":1:2 !norace({2}) !miss({3}): {4}", name, text,
                              detectors.substr(0, 63 * 65 - 1), "other", std::string(kMaxTextLength, 'r')));
}

TEST(TextWriterTest, NamesThatTheFormatLacksAreReplaced) {
  Trace trace;
  trace.threads = {"main thread", "T0", "T0", "var"};
  trace.syncs = {{"", SyncKind::kLock}, {"x", SyncKind::kLock}, {"sync0", SyncKind::kLock}};
  trace.initial_threads = {Tid{0}, Tid{1}, Tid{2}, Tid{3}};
  trace.ranges = {{"x", Addr{0x100}, 8, 0}, {"bad name", Addr{0x200}, 8, 0}, {"x", Addr{0x300}, 8, 0}};
  for (uint32_t i = 0; i < 4; ++i) {
    trace.events.push_back(Event::OnObject(EventKind::kLock, Tid{i}, i));
    trace.events.push_back(Event::OnMemory(EventKind::kRead, Tid{i}, Addr{0x100 * (i + 1)}, 4));
  }
  EXPECT_EQ(TextOf(trace),
            "threads T0_ T0 T2 T3\n"
            "var x 8 at 0x100\n"
            "T0_ lock sync0_\n"
            "T0_ read x:4\n"
            "T0 lock sync1\n"
            "T0 read 0x200:4\n"
            "T2 lock sync0\n"
            "T2 read 0x300:4\n"
            "T3 lock sync3\n"
            "T3 read 0x400:4\n");
}

TEST(TextWriterTest, TwoLiveBlocksDoNotShareAName) {
  Trace trace;
  trace.threads = {"T"};
  trace.initial_threads = {Tid{0}};
  trace.ranges = {{"node", Addr{0x100}, 8, 0}, {"node", Addr{0x200}, 8, 1}, {"node", Addr{0x300}, 8, 3}};
  trace.events = {Event::OnMemory(EventKind::kAlloc, Tid{0}, Addr{0x100}, 8),
                  Event::OnMemory(EventKind::kAlloc, Tid{0}, Addr{0x200}, 8),
                  Event::OnMemory(EventKind::kFree, Tid{0}, Addr{0x100}, 8),
                  Event::OnMemory(EventKind::kAlloc, Tid{0}, Addr{0x300}, 8),
                  Event::OnMemory(EventKind::kFree, Tid{0}, Addr{0x200}, 8),
                  Event::OnMemory(EventKind::kFree, Tid{0}, Addr{0x300}, 8)};
  EXPECT_EQ(TextOf(trace),
            "threads T\nT alloc node 8 at 0x100\nT alloc 0x200:8\nT free node\n"
            "T alloc node 8 at 0x300\nT free 0x200:8\nT free node\n");
}

// An event of any kind, well-formed in itself, on the names that RandomTrace gives.
Event RandomEvent(std::mt19937& random) {
  auto below = [&](uint32_t limit) { return std::uniform_int_distribution<uint32_t>(0, limit - 1)(random); };
  EventKind kind{static_cast<uint8_t>(below(kEventKindCount))};
  Tid thread{below(4)};
  switch (kind) {
    case EventKind::kLock:
    case EventKind::kUnlock:
      return Event::OnObject(kind, thread, below(2), LockMode{static_cast<uint8_t>(below(2))});
    case EventKind::kPureHbMutex:
    case EventKind::kLockCreate:
    case EventKind::kLockDestroy:
      return Event::OnObject(kind, thread, below(2));
    case EventKind::kSignal:
    case EventKind::kWait: {
      Event event = Event::OnObject(kind, thread, 2 + below(3));
      // The first of them is a signal, at an address.
      if (event.object != 2) return event;
      event.addr = Addr{0x1004};
      event.flag = EventFlag{static_cast<uint8_t>(below(kind == EventKind::kSignal ? 3 : 2))};
      return event;
    }
    case EventKind::kBarrierArrive:
    case EventKind::kBarrierLeave: {
      Event event = Event::OnObject(kind, thread, 5);
      event.size = 2;
      return event;
    }
    case EventKind::kThreadFork:
    case EventKind::kThreadJoin:
      return Event::OnObject(kind, thread, below(4));
    case EventKind::kThreadName:
      return Event::OnObject(kind, thread, below(3));
    case EventKind::kFunctionEnter:
      return Event::OnObject(kind, thread, below(2));
    case EventKind::kFence:
      return Event::OnThread(kind, thread, MemoryOrder{static_cast<uint8_t>(below(5))});
    case EventKind::kThreadEnd:
    case EventKind::kTxCommit:
    case EventKind::kFunctionExit:
    case EventKind::kIgnoreReadsBegin:
    case EventKind::kIgnoreReadsEnd:
    case EventKind::kIgnoreWritesBegin:
    case EventKind::kIgnoreWritesEnd:
      return Event::OnThread(kind, thread);
    default: {
      bool atomic = kind == EventKind::kAtomicLoad || kind == EventKind::kAtomicStore || kind == EventKind::kAtomicRmw;
      MemoryOrder order{static_cast<uint8_t>(atomic ? below(5) : 0)};
      return Event::OnMemory(kind, thread, Addr{0x1000 + 4 * below(40)}, uint64_t{1} << below(5), order);
    }
  }
}

// A well-formed trace of random events: whatever the checker lets through.
Trace RandomTrace(uint32_t seed) {
  std::mt19937 random(seed);
  auto below = [&](uint32_t limit) { return std::uniform_int_distribution<uint32_t>(0, limit - 1)(random); };
  Trace trace;
  trace.name = "random";
  trace.threads = {"main", "a", "b", "c"};
  trace.initial_threads = {Tid{0}, Tid{1}};
  trace.syncs = {{"m", SyncKind::kLock},       {"n", SyncKind::kLock},      {"h", SyncKind::kSignal},
                 {"cv", SyncKind::kCondition}, {"s", SyncKind::kSemaphore}, {"b2", SyncKind::kBarrier}};
  trace.functions = {"f", "g(int)"};
  trace.texts = {"", "tab\there", "\xff"};
  trace.positions = {{"f.cc", 1, 0}, {"g h.cc", 2, 3}, {"x:4", 5, 0}};
  trace.ranges = {{"x", Addr{0x1000}, 64, 0}, {"r", Addr{0x1010}, 8, 0}};
  TraceChecker checker(&trace);
  for (Tid thread : trace.initial_threads) checker.AddInitialThread(thread);
  for (int attempt = 0; attempt < 3000; ++attempt) {
    Event event = RandomEvent(random);
    bool ends = event.kind == EventKind::kThreadEnd || event.kind == EventKind::kThreadJoin;
    if (ends && below(40) > 0) continue;
    if (below(3) > 0) event.position = PositionId{below(3)};
    if (checker.Check(event)) continue;
    uint64_t index = trace.events.size();
    if (event.kind == EventKind::kAlloc && below(2) == 0) {
      trace.ranges.push_back({fmt::format("block{}", index), event.addr, event.size, index});
    }
    if (below(10) == 0) {
      trace.expectations.push_back({Expectation::Verdict::kRace, index, {"hb"}, "", 0});
      if (below(2) == 0) {
        trace.expectations.push_back({Expectation::Verdict::kMiss, index, {"eraser"}, "why", 0});
      }
    }
    trace.events.push_back(event);
  }
  return trace;
}

TEST(TextWriterTest, RandomTracesReadBackTheSame) {
  size_t events = 0;
  for (uint32_t seed = 0; seed < 100; ++seed) {
    Trace trace = RandomTrace(seed);
    events += trace.events.size();
    std::string written = TextOf(trace);
    Trace again = Read(written, "random");
    ASSERT_EQ(FirstDifference(trace, again), std::nullopt) << "seed " << seed << "\n" << written;
    ASSERT_EQ(TextOf(trace), written) << "the same trace gives the same text";
  }
  EXPECT_GT(events, 20'000u) << "the random traces are too short to say much";
}

}  // namespace
}  // namespace redflag
