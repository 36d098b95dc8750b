#include "trace/text_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <istream>
#include <streambuf>
#include <string>
#include <utility>
#include <variant>

namespace redflag {
namespace {

Trace Read(std::string_view text, std::string_view name = "t.trace") {
  TraceResult result = ReadTextTraceFromString(text, name);
  if (const TraceError* error = std::get_if<TraceError>(&result)) {
    ADD_FAILURE() << FormatError(*error, name);
    return {};
  }
  return std::get<Trace>(std::move(result));
}

// The only event of a one-line trace.
Event Only(std::string_view line) {
  Trace trace = Read(line);
  EXPECT_EQ(trace.events.size(), 1u);
  return trace.events.empty() ? Event{} : trace.events[0];
}

// The last event of a trace.
Event Last(std::string_view text) {
  Trace trace = Read(text);
  return trace.events.empty() ? Event{} : trace.events.back();
}

std::string Position(const Trace& trace, size_t event) {
  const SourcePosition& position = trace.positions[Raw(trace.events[event].position)];
  return fmt::format("{}|{}|{}", position.file, position.line, position.column);
}

std::string RangeText(const NamedRange& range) {
  return fmt::format("{} {:#x}:{} from {}", range.name, Raw(range.addr), range.size, range.first_event);
}

// What events are made.

TEST(TextReaderTest, AccessesNameTheirMemory) {
  Event event = Only("T1 read x");
  EXPECT_EQ(event.kind, EventKind::kRead);
  EXPECT_EQ(event.thread, Tid{0});
  EXPECT_EQ(event.addr, Addr{0x10000});
  EXPECT_EQ(event.size, 8u);
  EXPECT_EQ(Only("T1 write x").kind, EventKind::kWrite);
}

TEST(TextReaderTest, AnOperandIsAWholeVariableOrAPartOfIt) {
  const std::string var = "var x 64\nT read ";
  auto bytes = [&](const std::string& operand) {
    Event event = Last(var + operand);
    return std::pair(Raw(event.addr), event.size);
  };
  EXPECT_EQ(bytes("x"), std::pair(uint64_t{0x10000}, uint64_t{64}));
  EXPECT_EQ(bytes("x+16"), std::pair(uint64_t{0x10010}, uint64_t{48}));
  EXPECT_EQ(bytes("x:4"), std::pair(uint64_t{0x10000}, uint64_t{4}));
  EXPECT_EQ(bytes("x+0x10:4"), std::pair(uint64_t{0x10010}, uint64_t{4}));
  EXPECT_EQ(bytes("x+63:1"), std::pair(uint64_t{0x1003f}, uint64_t{1}));
  EXPECT_EQ(bytes("0xabc:7"), std::pair(uint64_t{0xabc}, uint64_t{7}));
}

TEST(TextReaderTest, NamesMayHaveScopesAndPunctuation) {
  Trace trace = Read("T-1.a write Cache::size:4\nT-1.a write _a$b-c.d");
  EXPECT_EQ(trace.threads, std::vector<std::string>{"T-1.a"});
  ASSERT_EQ(trace.ranges.size(), 2u);
  EXPECT_EQ(trace.ranges[0].name, "Cache::size");
  EXPECT_EQ(trace.events[0].size, 4u);
  EXPECT_EQ(trace.ranges[1].name, "_a$b-c.d");
}

TEST(TextReaderTest, AtomicsHaveAnOrder) {
  Event load = Only("T load x acquire");
  EXPECT_EQ(load.kind, EventKind::kAtomicLoad);
  EXPECT_EQ(load.order, MemoryOrder::kAcquire);
  EXPECT_EQ(Only("T load x consume").order, MemoryOrder::kAcquire);
  EXPECT_EQ(Only("T load x relaxed").order, MemoryOrder::kRelaxed);
  Event store = Only("T store x release");
  EXPECT_EQ(store.kind, EventKind::kAtomicStore);
  EXPECT_EQ(store.order, MemoryOrder::kRelease);
  Event rmw = Only("T rmw x acq_rel");
  EXPECT_EQ(rmw.kind, EventKind::kAtomicRmw);
  EXPECT_EQ(rmw.order, MemoryOrder::kAcqRel);
  Event fence = Only("T fence seq_cst");
  EXPECT_EQ(fence.kind, EventKind::kFence);
  EXPECT_EQ(fence.order, MemoryOrder::kSeqCst);
  EXPECT_EQ(fence.size, 0u);
}

TEST(TextReaderTest, ACompareExchangeIsAWriteOrALoad) {
  Event ok = Only("T cas x acq_rel acquire ok");
  EXPECT_EQ(ok.kind, EventKind::kAtomicRmw);
  EXPECT_EQ(ok.order, MemoryOrder::kAcqRel);
  Event fail = Only("T cas x acq_rel acquire fail");
  EXPECT_EQ(fail.kind, EventKind::kAtomicLoad);
  EXPECT_EQ(fail.order, MemoryOrder::kAcquire);
}

TEST(TextReaderTest, LocksHaveTwoModes) {
  Trace trace = Read("T lock m\nT unlock m\nT rdlock m\nT rdunlock m");
  EXPECT_EQ(trace.events[0].kind, EventKind::kLock);
  EXPECT_EQ(trace.events[0].mode, LockMode::kExclusive);
  EXPECT_EQ(trace.events[1].kind, EventKind::kUnlock);
  EXPECT_EQ(trace.events[2].kind, EventKind::kLock);
  EXPECT_EQ(trace.events[2].mode, LockMode::kShared);
  EXPECT_EQ(trace.events[3].kind, EventKind::kUnlock);
  EXPECT_EQ(trace.events[3].mode, LockMode::kShared);
  ASSERT_EQ(trace.syncs.size(), 1u);
  EXPECT_EQ(trace.syncs[0].name, "m");
  EXPECT_EQ(trace.syncs[0].kind, SyncKind::kLock);
}

TEST(TextReaderTest, ThreePairsOfVerbsSignalAndWait) {
  Trace trace = Read("T signal h\nT wait h\nT notify c\nT wake c\nT post s\nT take s");
  ASSERT_EQ(trace.syncs.size(), 3u);
  EXPECT_EQ(trace.syncs[0].kind, SyncKind::kSignal);
  EXPECT_EQ(trace.syncs[1].kind, SyncKind::kCondition);
  EXPECT_EQ(trace.syncs[2].kind, SyncKind::kSemaphore);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(trace.events[i].kind, i % 2 == 0 ? EventKind::kSignal : EventKind::kWait);
    EXPECT_EQ(trace.events[i].sync(), SyncId{static_cast<uint32_t>(i / 2)});
  }
}

TEST(TextReaderTest, ACondvarWaitIsAWaitUnderALock) {
  Trace trace = Read("T lock m\nT condvar-wait c m");
  EXPECT_EQ(trace.events[1].kind, EventKind::kWait);
  EXPECT_EQ(trace.syncs[Raw(trace.events[1].sync())].name, "c");
  EXPECT_EQ(trace.syncs[Raw(trace.events[1].sync())].kind, SyncKind::kCondition);
}

TEST(TextReaderTest, BarrierEventsCarryTheNumberOfParties) {
  Trace trace = Read("threads A B\nbarrier b 2\nA arrive b\nB arrive b\nB leave b\nA leave b");
  EXPECT_EQ(trace.events[0].kind, EventKind::kBarrierArrive);
  EXPECT_EQ(trace.events[2].kind, EventKind::kBarrierLeave);
  for (const Event& event : trace.events) EXPECT_EQ(event.size, 2u);
  ASSERT_EQ(trace.syncs.size(), 1u);
  EXPECT_EQ(trace.syncs[0].kind, SyncKind::kBarrier);
}

TEST(TextReaderTest, ThreadsAreForkedNamedEndedAndJoined) {
  Trace trace = Read("main fork w\nw name \"worker # 1\"\nw end\nmain join w");
  EXPECT_EQ(trace.threads, (std::vector<std::string>{"main", "w"}));
  EXPECT_EQ(trace.initial_threads, std::vector<Tid>{Tid{0}});
  EXPECT_EQ(trace.events[0].kind, EventKind::kThreadFork);
  EXPECT_EQ(trace.events[0].child(), Tid{1});
  EXPECT_EQ(trace.events[1].kind, EventKind::kThreadName);
  EXPECT_EQ(trace.texts, std::vector<std::string>{"worker # 1"});
  EXPECT_EQ(trace.events[2].kind, EventKind::kThreadEnd);
  EXPECT_EQ(trace.events[3].kind, EventKind::kThreadJoin);
  EXPECT_EQ(trace.events[3].child(), Tid{1});
}

TEST(TextReaderTest, QuotedTextHasEscapes) {
  EXPECT_EQ(Read(R"(T name "a\"b\\c\n\t\x41\xff")").texts[0], "a\"b\\c\n\tA\xff");
}

TEST(TextReaderTest, ACommitIsItsFootprintAndACommit) {
  Trace trace = Read("T commit r a b w c @f.cc:3 !norace");
  ASSERT_EQ(trace.events.size(), 4u);
  EXPECT_EQ(trace.events[0].kind, EventKind::kTxRead);
  EXPECT_EQ(trace.events[1].kind, EventKind::kTxRead);
  EXPECT_EQ(trace.events[2].kind, EventKind::kTxWrite);
  EXPECT_EQ(trace.events[2].addr, Addr{0x10020});
  EXPECT_EQ(trace.events[3].kind, EventKind::kTxCommit);
  EXPECT_EQ(trace.lines, (std::vector<uint32_t>{1, 1, 1, 1}));
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(Position(trace, i), "f.cc|3|0");
  ASSERT_EQ(trace.expectations.size(), 1u);
  EXPECT_EQ(trace.expectations[0].event, 3u);
  for (const NamedRange& range : trace.ranges) EXPECT_EQ(range.first_event, 0u);
}

TEST(TextReaderTest, EitherPartOfACommitMayBeAbsentOrComeAgain) {
  EXPECT_EQ(Read("T commit w a").events[0].kind, EventKind::kTxWrite);
  EXPECT_EQ(Read("T commit r a").events[0].kind, EventKind::kTxRead);
  Trace trace = Read("T commit w a r b w c");
  ASSERT_EQ(trace.events.size(), 4u);
  EXPECT_EQ(trace.events[1].kind, EventKind::kTxRead);
  EXPECT_EQ(trace.events[2].kind, EventKind::kTxWrite);
}

TEST(TextReaderTest, ATransactionMayBeWrittenInPieces) {
  Trace trace = Read("threads A B\nA tx-read x\nB read y\nA tx-write x\nA commit");
  EXPECT_EQ(trace.events[0].kind, EventKind::kTxRead);
  EXPECT_EQ(trace.events[1].kind, EventKind::kRead);
  EXPECT_EQ(trace.events[2].kind, EventKind::kTxWrite);
  EXPECT_EQ(trace.events[3].kind, EventKind::kTxCommit);
}

TEST(TextReaderTest, FunctionsAreEnteredAndExited) {
  Trace trace = Read("T enter ns::f\nT enter \"operator()(int) const\"\nT exit\nT enter ns::f");
  EXPECT_EQ(trace.functions, (std::vector<std::string>{"ns::f", "operator()(int) const"}));
  EXPECT_EQ(trace.events[0].kind, EventKind::kFunctionEnter);
  EXPECT_EQ(trace.events[1].function(), FunctionId{1});
  EXPECT_EQ(trace.events[2].kind, EventKind::kFunctionExit);
  EXPECT_EQ(trace.events[3].function(), FunctionId{0});
}

TEST(TextReaderTest, EveryAnnotationHasAVerb) {
  EXPECT_EQ(Only("T ignore-reads begin").kind, EventKind::kIgnoreReadsBegin);
  EXPECT_EQ(Last("T ignore-reads begin\nT ignore-reads end").kind, EventKind::kIgnoreReadsEnd);
  EXPECT_EQ(Only("T ignore-writes begin").kind, EventKind::kIgnoreWritesBegin);
  EXPECT_EQ(Last("T ignore-writes begin\nT ignore-writes end").kind, EventKind::kIgnoreWritesEnd);
  EXPECT_EQ(Only("T benign x").kind, EventKind::kBenignRace);
  EXPECT_EQ(Only("T expect-race x").kind, EventKind::kExpectRace);
  EXPECT_EQ(Only("T publish x").kind, EventKind::kPublish);
  EXPECT_EQ(Only("T unpublish x").kind, EventKind::kUnpublish);
  EXPECT_EQ(Only("T new-memory x").kind, EventKind::kNewMemory);
  EXPECT_EQ(Only("T pure-hb m").kind, EventKind::kPureHbMutex);
  EXPECT_EQ(Only("T lock-create m").kind, EventKind::kLockCreate);
  EXPECT_EQ(Only("T lock-destroy m").kind, EventKind::kLockDestroy);
}

// What recordings have.

TEST(TextReaderTest, SignalsMayBeWeakOrReplaceWhatWasThere) {
  EXPECT_EQ(Only("T signal-store h").kind, EventKind::kSignal);
  EXPECT_EQ(Only("T signal-store h").flag, EventFlag::kReplaces);
  EXPECT_EQ(Only("T weak-signal h").kind, EventKind::kSignal);
  EXPECT_EQ(Only("T weak-signal h").flag, EventFlag::kNotify);
  EXPECT_EQ(Only("T weak-wait h").kind, EventKind::kWait);
  EXPECT_EQ(Only("T weak-wait h").flag, EventFlag::kNotify);
  EXPECT_EQ(Only("T signal h").flag, EventFlag::kNone);
}

TEST(TextReaderTest, MemoryIsForgottenAndRacesAreTold) {
  EXPECT_EQ(Only("T forget 0x1000:4096").kind, EventKind::kForget);
  EXPECT_EQ(Only("T forget 0x1000:4096").size, 4096u);
  const Event told = Only("T told 0x1008 0xf0");
  EXPECT_EQ(told.kind, EventKind::kTold);
  EXPECT_EQ(told.addr, Addr{0x1008});
  EXPECT_EQ(told.size, 0xf0u);
}

TEST(TextReaderTest, AnObjectMaySitAtAnAddress) {
  Trace trace = Read(
      "var flag 8 at 0x2000\nobject m at flag\nobject h at 0x3000\nT lock m\nT unlock m\nT signal h\nT lock other\n");
  ASSERT_EQ(trace.events.size(), 4u);
  EXPECT_EQ(trace.events[0].addr, Addr{0x2000});
  EXPECT_EQ(trace.events[1].addr, Addr{0x2000});
  EXPECT_EQ(trace.events[2].addr, Addr{0x3000});
  EXPECT_EQ(trace.events[3].addr, Addr{});
  EXPECT_EQ(trace.syncs.size(), 3u) << "a declaration alone is no use";
}

// Addresses.

TEST(TextReaderTest, VariablesGetFreshAlignedAddresses) {
  Trace trace = Read("var a 1\nvar b 20\nT read c\nvar d 3 align 1\nvar e 8 align 64\nT read e\n");
  ASSERT_EQ(trace.ranges.size(), 5u);
  EXPECT_EQ(RangeText(trace.ranges[0]), "a 0x10000:1 from 0");
  EXPECT_EQ(RangeText(trace.ranges[1]), "b 0x10010:20 from 0");
  EXPECT_EQ(RangeText(trace.ranges[2]), "c 0x10030:8 from 0");
  EXPECT_EQ(RangeText(trace.ranges[3]), "d 0x10038:3 from 1");
  EXPECT_EQ(RangeText(trace.ranges[4]), "e 0x10040:8 from 1");
}

TEST(TextReaderTest, AVariableMayBePlaced) {
  Trace trace = Read("var a 64\nvar b 4 at a+8\nvar c 4 at 0x500\nvar d 4 align 4 at 0x504\nvar e 2 at a\nT read b");
  EXPECT_EQ(trace.ranges[1].addr, Addr{0x10008});
  EXPECT_EQ(trace.ranges[2].addr, Addr{0x500});
  EXPECT_EQ(trace.ranges[3].addr, Addr{0x504});
  EXPECT_EQ(trace.ranges[4].addr, Addr{0x10000});
}

TEST(TextReaderTest, FreshAddressesKeepClearOfPlacedOnes) {
  Trace trace = Read("var a 16 at 0x10000\nT alloc 0x10014:8\nT read b\nvar c 8 at 0x10030\nT read d");
  EXPECT_EQ(trace.ranges[1].addr, Addr{0x10020}) << "behind a and the block";
  EXPECT_EQ(trace.ranges[3].addr, Addr{0x10040}) << "behind c";
}

TEST(TextReaderTest, ABlockIsAllocatedAndFreed) {
  Trace trace = Read("T alloc p 40\nT write p+8:4\nT free p\nT alloc q 16 at 0x7000\nT alloc r 8 at p+16\n");
  EXPECT_EQ(trace.events[0].kind, EventKind::kAlloc);
  EXPECT_EQ(trace.events[0].addr, Addr{0x10000});
  EXPECT_EQ(trace.events[0].size, 40u);
  EXPECT_EQ(trace.events[1].addr, Addr{0x10008});
  EXPECT_EQ(trace.events[2].kind, EventKind::kFree);
  EXPECT_EQ(trace.events[2].size, 40u);
  EXPECT_EQ(RangeText(trace.ranges[1]), "q 0x7000:16 from 3");
  EXPECT_EQ(RangeText(trace.ranges[2]), "r 0x10010:8 from 4");
}

TEST(TextReaderTest, ABlockThatComesBackReusesItsAddressIfItFits) {
  Trace trace = Read(
      "T alloc p 40\nT free p\nT alloc p 8\nT free p\nT alloc p 40\nT free p\nT alloc p 41\nT free p\n"
      "T alloc p 41 at 0x7000\n");
  ASSERT_EQ(trace.ranges.size(), 5u);
  EXPECT_EQ(RangeText(trace.ranges[1]), "p 0x10000:8 from 2");
  EXPECT_EQ(RangeText(trace.ranges[2]), "p 0x10000:40 from 4");
  EXPECT_EQ(RangeText(trace.ranges[3]), "p 0x10030:41 from 6");
  EXPECT_EQ(RangeText(trace.ranges[4]), "p 0x7000:41 from 8");
}

TEST(TextReaderTest, ABlockMayBeNamedByItsAddressAlone) {
  Trace trace = Read("T alloc p 8 at 0x100\nT free 0x100:8\nT alloc p 4\nT alloc 0x200:8\nT free 0x200:8");
  EXPECT_EQ(trace.events[2].addr, Addr{0x100});
  EXPECT_EQ(trace.events[3].addr, Addr{0x200});
  EXPECT_EQ(trace.ranges.size(), 2u);
}

// Positions, lines, expectations.

TEST(TextReaderTest, AnEventStandsWhereItSaysOrOnItsLine) {
  Trace trace = Read(
      "# comment\nT read x @dir/a.cc:12\nT read x @a:7:9\n\nT read x\nT read x @t.trace:5\nT read x "
      "@x:1:2:3");
  EXPECT_EQ(Position(trace, 0), "dir/a.cc|12|0");
  EXPECT_EQ(Position(trace, 1), "a|7|9");
  EXPECT_EQ(Position(trace, 2), "t.trace|5|0");
  EXPECT_EQ(trace.events[2].position, trace.events[3].position) << "equal positions share an id";
  EXPECT_EQ(Position(trace, 4), "x:1|2|3");
  EXPECT_EQ(trace.positions.size(), 4u);
  EXPECT_EQ(trace.lines, (std::vector<uint32_t>{2, 3, 5, 6, 7}));
}

TEST(TextReaderTest, AFileNameMayBeQuoted) {
  Trace trace = Read("T read x @\"my file #1.cc\":3:4\nT read x @\"a:5\":7\nT read x @a\"b:1");
  EXPECT_EQ(Position(trace, 0), "my file #1.cc|3|4");
  EXPECT_EQ(Position(trace, 1), "a:5|7|0");
  EXPECT_EQ(Position(trace, 2), "a\"b|1|0");
}

TEST(TextReaderTest, ExpectationsBelongToTheEventOfTheirLine) {
  Trace trace = Read(
      "threads A B\nA write x !norace\nB write x @f:1 !race(hb, goldilocks) !norace( fasttrack )\n"
      "B read x !race !miss(eraser,hybrid):  one writer # \"3.2  \n");
  ASSERT_EQ(trace.expectations.size(), 5u);
  using Verdict = Expectation::Verdict;
  EXPECT_EQ(trace.expectations[0].verdict, Verdict::kNoRace);
  EXPECT_EQ(trace.expectations[0].event, 0u);
  EXPECT_EQ(trace.expectations[0].line, 2u);
  EXPECT_TRUE(trace.expectations[0].detectors.empty());
  EXPECT_EQ(trace.expectations[1].verdict, Verdict::kRace);
  EXPECT_EQ(trace.expectations[1].detectors, (std::vector<std::string>{"hb", "goldilocks"}));
  EXPECT_EQ(trace.expectations[1].event, 1u);
  EXPECT_EQ(trace.expectations[2].detectors, std::vector<std::string>{"fasttrack"});
  EXPECT_EQ(trace.expectations[4].verdict, Verdict::kMiss);
  EXPECT_EQ(trace.expectations[4].detectors, (std::vector<std::string>{"eraser", "hybrid"}));
  EXPECT_EQ(trace.expectations[4].reason, "one writer # \"3.2");
  EXPECT_EQ(trace.expectations[4].event, 2u);
}

TEST(TextReaderTest, DeclaredThreadsExistFromTheStart) {
  Trace trace = Read("threads A B\nthreads C\nC read x\nA fork D\nD read x");
  EXPECT_EQ(trace.threads, (std::vector<std::string>{"A", "B", "C", "D"}));
  EXPECT_EQ(trace.initial_threads, (std::vector<Tid>{Tid{0}, Tid{1}, Tid{2}}));
}

TEST(TextReaderTest, IdsAreGivenOutInOrderOfUse) {
  Trace trace = Read("barrier late 1\nT lock m\nT arrive late");
  EXPECT_EQ(trace.syncs[0].name, "m");
  EXPECT_EQ(trace.syncs[1].name, "late");
}

// Lines and characters.

TEST(TextReaderTest, BlanksCommentsAndLineEndsDoNotMatter) {
  Trace trace = Read("\r\n  # only a comment\r\n\tT\tread \t x  # trailing\r\nT write x#close\nT read x");
  ASSERT_EQ(trace.events.size(), 3u);
  EXPECT_EQ(trace.lines, (std::vector<uint32_t>{3, 4, 5}));
  EXPECT_EQ(trace.name, "t.trace");
}

TEST(TextReaderTest, TextOutsideAsciiIsFineInCommentsTextsAndPositions) {
  Trace trace = Read("T name \"Zoë 🚩\" @ü.cc:1 # ∞\n");
  EXPECT_EQ(trace.texts[0], "Zoë 🚩");
  EXPECT_EQ(Position(trace, 0), "ü.cc|1|0");
}

TEST(TextReaderTest, LinesThatStraddleChunksAreWhole) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += fmt::format("T write variable{}:{}\n", i % 77, i % 8 + 1);
  Trace trace = Read(text);
  ASSERT_EQ(trace.events.size(), 20000u);
  EXPECT_EQ(trace.ranges.size(), 77u);
  for (size_t i = 0; i < trace.events.size(); ++i) ASSERT_EQ(trace.events[i].size, i % 8 + 1) << i;
}

// Gives out the same byte for ever, and counts.
class Endless : public std::streambuf {
 public:
  size_t given() const { return given_; }

 protected:
  std::streamsize xsgetn(char* to, std::streamsize count) override {
    std::fill_n(to, count, 'x');
    given_ += static_cast<size_t>(count);
    return count;
  }
  int_type underflow() override { return 'x'; }

 private:
  size_t given_ = 0;
};

TEST(TextReaderTest, AnEndlessLineIsRefusedEarly) {
  Endless endless;
  std::istream in(&endless);
  TraceResult result = ReadTextTrace(in, "endless");
  ASSERT_TRUE(std::holds_alternative<TraceError>(result));
  EXPECT_EQ(std::get<TraceError>(result).message, "the line has more than 65536 bytes");
  EXPECT_LE(endless.given(), 4u * 65536);
}

// Fails after its first bytes.
class Broken : public std::streambuf {
 protected:
  std::streamsize xsgetn(char*, std::streamsize) override { throw std::runtime_error("broken"); }
};

TEST(TextReaderTest, AFileThatCannotBeReadIsAnError) {
  Broken broken;
  std::istream in(&broken);
  TraceResult result = ReadTextTrace(in, "broken");
  ASSERT_TRUE(std::holds_alternative<TraceError>(result));
  EXPECT_EQ(std::get<TraceError>(result).message, "the file cannot be read");
}

}  // namespace
}  // namespace redflag
