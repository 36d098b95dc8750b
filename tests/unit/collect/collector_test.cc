#include "collect/collector.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "collect/wire_writer.h"
#include "tests/unit/collect/subject_program.h"

namespace redflag {
namespace {

using Json = nlohmann::json;

class TextBuffer : public TextOutput {
 public:
  void Print(const Render& render) override { text += render(Colour::kNo); }
  std::string text;
};

// The subject program as if it had been loaded somewhere else, with threads and a race of our own making.
class CollectorTest : public testing::Test {
 protected:
  static constexpr uint64_t kBias = 0x5555'0000'0000;

  static void SetUpTestSuite() { program = std::make_unique<SubjectProgram>("g++-12 -O2 -g -fpie -pie"); }
  static void TearDownTestSuite() { program.reset(); }

  void SetUp() override {
    Send(ProcessMessage{.pid = 77, .start_time = 0, .command = "./subject --fast"});
    Send(ModuleMessage{
        .begin = kBias + 0x1000, .end = kBias + 0x3000, .bias = kBias, .path = program->path(), .gone = false});
    ThreadMessage thread;
    thread.os_id = 77;
    Send(thread);
    thread.id = 1;
    thread.creator = 0;
    thread.os_id = 78;
    thread.name = "worker";
    thread.finished = true;
    thread.created_at.frames = {At("constructor"), At("extern-c")};
    Send(thread);
  }

  void Send(const WireMessage& message) { collector.Consume(EncodeMessage(message)); }

  static uint64_t At(const std::string& name) { return kBias + program->address(name); }

  static RaceMessage Race() {
    RawAccess write;
    write.address = At("var:counter+8");
    write.size = 4;
    write.thread = 1;
    write.kind = AccessKind::kWrite;
    write.value = 0x2a;
    write.stack.frames = {At("inlined"), At("static")};
    write.locks = {
        {.address = At("var:hidden_counter"), .shared = false, .taken_at = RawStack{{At("extern-c")}, false}}};
    RawAccess read = write;
    read.thread = 0;
    read.kind = AccessKind::kRead;
    read.value.reset();
    read.stack = {.frames = {At("template"), 0xdead}, .truncated = true};
    read.locks.clear();
    RaceMessage race;
    race.address = write.address;
    race.bytes = 4;
    race.accesses_found = 3;
    race.accesses = {write, read};
    return race;
  }

  void ExpectLine(const std::string& line) {
    EXPECT_NE(("\n" + output.text).find("\n" + line + "\n"), std::string::npos) << "no line is\n"
                                                                                << line << "\nin\n"
                                                                                << output.text;
  }
  static std::string Place(const std::string& text) {
    return program->source() + ":" + std::to_string(SubjectProgram::LineOf(text)) + ":";
  }

  static std::unique_ptr<SubjectProgram> program;
  TextBuffer output;
  std::vector<Json> json;
  Collector collector{
      {.detector = "hb", .pid = 1, .json = [this](const std::string& line) { json.push_back(Json::parse(line)); }},
      output};
};
std::unique_ptr<SubjectProgram> CollectorTest::program;

TEST_F(CollectorTest, ARaceInText) {
  Send(Race());
  // Columns are the compiler's choice.
  std::string& text = output.text;
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    if (text.compare(i, 4, ".cc:") != 0) continue;
    const size_t column = text.find(':', i + 4) + 1;
    text.erase(column, text.find_first_not_of("0123456789", column) - column);
  }
  ExpectLine("DATA RACE on counter[2] (4 bytes at " + fmt::format("{:#x}", At("var:counter+8")) + ")");
  ExpectLine("  write of 4 bytes by thread T1");
  ExpectLine("    #0 Innermost  " + Place("mark(\"inlined\")") + " (inlined)");
  ExpectLine("    #1 Middle  " + Place("call of Innermost") + " (inlined)");
  ExpectLine("    #2 Outer()  " + Place("call of Middle"));
  ExpectLine("    #3 Hidden(int)  " + Place("mark(\"static\")"));
  ExpectLine("    the memory held 0x2a then");
  ExpectLine("    holds hidden_counter, taken at plain_c  " + Place("mark(\"extern-c\")"));
  ExpectLine("  earlier read of 4 bytes by thread main");
  ExpectLine("    #0 void outer::inner::Box::Put<double>(double)  " + Place("mark(\"template\")"));
  ExpectLine("    #1 0xdead");
  ExpectLine("    (outer frames are missing)");
  ExpectLine("    locks held: none");
  ExpectLine("  and 1 more earlier accesses");
  ExpectLine("  thread T1 \"worker\" (78, finished) was created by main at:");
  ExpectLine("    #0 outer::inner::Box::Box(int)  " + Place("mark(\"constructor\")"));
  ExpectLine("    #1 plain_c  " + Place("mark(\"extern-c\")"));
  ExpectLine("  thread main (77) exists from the start");
  ExpectLine(
      "  why: nothing in this run orders the read by main before the write by T1; T1 holds hidden_counter, main holds "
      "no lock");
  ExpectLine("  in: ./subject --fast (process 77), found by hb");
}

TEST_F(CollectorTest, ARaceInJson) {
  Send(Race());
  ASSERT_EQ(json.size(), 1u);
  const Json& race = json[0];
  EXPECT_EQ(race["kind"], "data-race");
  EXPECT_EQ(race["detector"], "hb");
  EXPECT_EQ(race["variable"], "counter[2]");
  EXPECT_EQ(race["offset"], 0);
  EXPECT_EQ(race["process"], (Json{{"pid", 77}, {"command", "./subject --fast"}}));
  EXPECT_FALSE(race.contains("trace"));
  EXPECT_EQ(race["earlier_omitted"], 1);
  const Json& stack = race["access"]["stack"];
  ASSERT_EQ(stack.size(), 4u);
  EXPECT_EQ(stack[0]["inlined"], true);
  EXPECT_EQ(stack[0]["line"], SubjectProgram::LineOf("mark(\"inlined\")"));
  EXPECT_EQ(stack[2]["function"], "Outer()");
  EXPECT_EQ(stack[2]["module"], program->path());
  EXPECT_EQ(stack[2]["offset"], fmt::format("{:#x}", program->address("inlined")));
  EXPECT_FALSE(stack[2].contains("inlined"));
  EXPECT_EQ(race["access"]["value"], "0x2a");
  EXPECT_EQ(race["earlier"][0]["stack_truncated"], true);
  EXPECT_EQ(race["block"]["place"], "global");
  EXPECT_EQ(race["block"]["size"], 16);
  EXPECT_EQ(race["threads"][0]["os_id"], 78);
  EXPECT_EQ(race["threads"][0]["created_at"].size(), 2u);
}

TEST_F(CollectorTest, HeapBlocksSayWhereTheyWereAllocated) {
  RaceMessage race = Race();
  race.address = 0x7f00'0000'1010;
  race.block = RawBlock{.begin = 0x7f00'0000'1000,
                        .bytes = 40,
                        .thread = 1,
                        .place = wire::Place::kHeap,
                        .freed = true,
                        .allocated_at = RawStack{{At("static"), At("extern-c")}, false}};
  Send(race);
  ExpectLine("DATA RACE on 4 bytes at 0x7f0000001010");
  ExpectLine(
      "  the bytes are at offset 16 of a freed heap block of 40 bytes at 0x7f0000001000, allocated by thread T1 at:");
  EXPECT_EQ(json.at(0)["block"]["allocated_at"].size(), 2u);
  EXPECT_EQ(json.at(0)["block"]["freed"], true);
}

TEST_F(CollectorTest, OtherPlacesAreNamed) {
  RaceMessage race = Race();
  race.address = 0x7f00'0000'1010;
  race.block = RawBlock{};
  race.block->thread = 1;
  for (const auto& [place, line] : std::vector<std::pair<wire::Place, std::string>>{
           {wire::Place::kStack, "  the bytes are on the stack of thread T1"},
           {wire::Place::kTls, "  the bytes are thread-local, of thread T1"},
           {wire::Place::kMapped, "  the bytes are in memory that was mapped by thread T1"}}) {
    race.block->place = place;
    race.accesses[0].size = 1 + static_cast<uint32_t>(place);  // another race
    Send(race);
    ExpectLine(line);
  }
}

// Whatever words were on the stack: only those that fit together name somebody.
TEST_F(CollectorTest, WordsThatAreNoCallsNameNothing) {
  RaceMessage race = Race();
  race.address = 0x7ffd'0000'1010;
  race.block = RawBlock{};
  race.block->thread = 1;
  race.block->place = wire::Place::kStack;
  RawCalls& calls = race.block->calls.emplace();
  calls.slots = {0x7ffd'0000'1004, UINT64_MAX};
  for (const uint64_t value :
       {At("static"), At("lambda"), At("inlined"), At("static") + 1, uint64_t{0}, uint64_t{1}, UINT64_MAX}) {
    for (const uint64_t address : {uint64_t{0}, uint64_t{0x7ffd'0000'1000}, UINT64_MAX}) {
      calls.returns.push_back({.address = address, .value = value, .below = address - 8});
      calls.returns.push_back({.address = address, .value = value, .below = UINT64_MAX});
    }
  }
  Send(race);
  ExpectLine("DATA RACE on 4 bytes at 0x7ffd00001010");
  ExpectLine("  the bytes are on the stack of thread T1");
  EXPECT_FALSE(json.at(0)["block"].contains("function"));
}

// A report waits for what becomes known of its variable, and those behind it wait too.
TEST_F(CollectorTest, ReportsAreHeldBackForWhatIsSeenSince) {
  Send(ProcessMessage{.pid = 77, .start_time = 0, .command = "./subject --fast", .watch_ms = 5000});
  RaceMessage race = Race();
  race.sequence = 1;
  race.accesses[1].known =
      RawKnown{.how = wire::Handover::kUnlock, .object = At("var:hidden_counter"), .place = At("lambda"), .caller = 0};
  Send(race);
  RaceMessage second = Race();
  second.sequence = 2;
  second.accesses[1].stack.frames[0] = At("lambda");
  Send(second);
  EXPECT_EQ(output.text, "");
  const auto due = collector.due();
  ASSERT_TRUE(due);
  collector.WriteDue(*due - std::chrono::milliseconds(1));
  EXPECT_EQ(output.text, "");
  Send(WatchedMessage{.sequence = 2, .accesses = {}});
  EXPECT_EQ(output.text, "");
  Send(WatchedMessage{.sequence = 1, .accesses = {2, race.accesses[0]}});
  Send(WatchedMessage{.sequence = 3, .accesses = {}});  // of nothing
  ASSERT_EQ(json.size(), 2u);
  EXPECT_FALSE(collector.due());
  ASSERT_EQ(json[0]["evidence"].size(), 2u) << json[0];
  EXPECT_EQ(json[0]["evidence"][0].get<std::string>().rfind(
                "the last that T1 knows of main is its unlock of hidden_counter at ", 0),
            0u);
  EXPECT_EQ(json[0]["evidence"][1],
            fmt::format("3 of 4 accesses that were seen hold hidden_counter; not the read at {}:{}", program->source(),
                        SubjectProgram::LineOf("mark(\"template\")")));
  EXPECT_NE(output.text.find("  seen: 3 of 4 accesses"), std::string::npos);
  EXPECT_FALSE(json[1].contains("evidence"));
}

// Whoever comes after a reader that died has to be told again of what that one held back.
TEST_F(CollectorTest, KnowsWhereTheFirstReportStoodThatIsHeldBack) {
  Send(ProcessMessage{.pid = 77, .start_time = 0, .command = "./subject --fast", .watch_ms = 5000});
  RaceMessage race = Race();
  EXPECT_FALSE(collector.held_since());
  race.sequence = 1;
  collector.Consume(EncodeMessage(race), 400);
  race.sequence = 2;
  race.accesses[0].stack.frames[0] = At("lambda");
  collector.Consume(EncodeMessage(race), 800);
  EXPECT_EQ(collector.held_since(), 400u);
  collector.Consume(EncodeMessage(WatchedMessage{.sequence = 1, .accesses = {}}), 1200);
  EXPECT_EQ(collector.held_since(), 800u);
  collector.WriteDue(*collector.due());
  EXPECT_FALSE(collector.held_since());
}

// A tolerant section knows both values, and of the other side nothing.
TEST_F(CollectorTest, WhatATolerantSectionFoundIsARaceInItsWords) {
  RaceMessage race = Race();
  race.sequence = 1;
  race.accesses[0].kind = AccessKind::kWrite;
  RawAccess unknown;
  unknown.thread = wire::kNoThread;
  unknown.kind = AccessKind::kWrite;
  unknown.locks_unknown = true;
  race.accesses[1] = unknown;
  Send(ToleratedMessage{.sequence = 1, .local = 5, .global = 7, .words = "section 'x': both changed it"});
  Send(race);
  RaceMessage other = Race();
  other.sequence = 2;
  Send(other);
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0]["detector"], "tolerate");
  EXPECT_EQ(json[0]["why"], "section 'x': both changed it");
  EXPECT_EQ(json[0]["access"]["value"], "0x5");
  EXPECT_EQ(json[0]["earlier"][0]["value"], "0x7");
  EXPECT_EQ(json[0]["earlier"][0]["thread"], "?");
  EXPECT_EQ(json[0]["judgement"]["rank"], "high");
  EXPECT_FALSE(json[0]["judgement"].contains("pattern"));
  EXPECT_NE(json[1]["detector"], "tolerate");
  EXPECT_EQ(json[1]["access"]["value"], "0x2a");
}

TEST_F(CollectorTest, NoReportWaitsLongerThanItShould) {
  Send(ProcessMessage{.pid = 77, .start_time = 0, .command = "./subject --fast", .watch_ms = 5000});
  RaceMessage race = Race();
  Send(race);
  EXPECT_TRUE(json.empty());
  Send(FlushMessage{});
  EXPECT_EQ(json.size(), 1u);
  race.accesses[0].stack.frames[0] = At("lambda");
  Send(race);
  EXPECT_EQ(json.size(), 1u);
  collector.WriteDue(*collector.due());
  EXPECT_EQ(json.size(), 2u);
  race.accesses[0].stack.frames[0] = At("extern-c");
  Send(race);
  Send(EndMessage{});
  EXPECT_EQ(json.size(), 3u);
  race.accesses[0].stack.frames[0] = At("constructor");
  Send(race);
  collector.Finish(0);
  EXPECT_EQ(json.size(), 5u);  // and the summary
}

TEST_F(CollectorTest, RepetitionsAreCountedNotShown) {
  Send(Race());
  RaceMessage again = Race();
  again.sequence = 5;
  Send(again);
  std::swap(again.accesses[0], again.accesses[1]);
  Send(again);  // the other way round: the same two places
  EXPECT_EQ(collector.races(), 1u);
  EXPECT_EQ(collector.repeated(), 2u);
  again.accesses[0].stack.frames[0] = At("lambda");
  Send(again);
  EXPECT_EQ(collector.races(), 2u);
  collector.Finish(0);
  ExpectLine("redflag: 2 data races in ./subject --fast (process 77); 2 repetitions of them not shown");
  ExpectLine("redflag:   #2   medium counter[2]: unlocked read");
  ExpectLine("redflag:   #1   medium counter[2]: unlocked read, 3 times");
  EXPECT_EQ(json.back()["kind"], "summary");
  EXPECT_EQ(json.back()["pid"], 77);
  EXPECT_EQ(json.back()["repeated"], (Json{{json[0]["fingerprint"].get<std::string>(), 2}}));
  EXPECT_EQ(json.back()["repetitions"], 2);
  EXPECT_EQ(json.back()["races"], 2);
  EXPECT_EQ(json.back()["orderly"], false);
}

TEST_F(CollectorTest, TheProgramCountsRepetitionsToo) {
  RaceMessage race = Race();
  race.sequence = 3;
  Send(race);
  Send(RepeatsMessage{.sequence = 3, .count = 999});
  Send(RepeatsMessage{.sequence = 4, .count = 5});  // nobody told of it
  collector.Finish(0);
  ExpectLine("redflag: 1 data race in ./subject --fast (process 77); 999 repetitions of them not shown");
  EXPECT_EQ(json.back()["repeated"].begin().value(), 999);
}

TEST_F(CollectorTest, TheSameLinesByOtherWaysAreOneReport) {
  RaceMessage race = Race();
  Send(race);
  race.accesses[0].stack.frames.push_back(At("extern-c"));  // another caller, beyond what counts
  race.accesses[0].stack.frames.push_back(At("constructor"));
  Send(race);
  EXPECT_EQ(collector.races(), 1u);
  EXPECT_EQ(collector.repeated(), 1u);
  race.accesses[1].stack.frames[0] = At("lambda");  // another line
  Send(race);
  EXPECT_EQ(collector.races(), 2u);
}

TEST_F(CollectorTest, AThousandObjectsAreOneReport) {
  RaceMessage race = Race();
  race.block = RawBlock{};
  race.block->place = wire::Place::kHeap;
  for (uint64_t i = 0; i < 1000; ++i) {
    race.sequence = i;
    race.address = 0x7f00'0000'0000 + i * 64;
    race.accesses[0].address = race.accesses[1].address = race.address;
    Send(race);
  }
  EXPECT_EQ(collector.races(), 1u);
  EXPECT_EQ(collector.repeated(), 999u);
}

TEST_F(CollectorTest, SilentProgramsStaySilent) {
  Send(EndMessage{});
  collector.Finish(0);
  EXPECT_EQ(output.text, "");
  EXPECT_EQ(json.back()["orderly"], true);
}

TEST_F(CollectorTest, UnknownLocksAreNotNoLocks) {
  RaceMessage race = Race();
  race.accesses[1].locks_unknown = true;
  race.accesses[1].vptr = true;
  Send(race);
  ExpectLine("  earlier read of 4 bytes by thread main, a pointer to a virtual table");
  ExpectLine("    locks held: not known");
  EXPECT_NE(output.text.find("not all locks that they held are known"), std::string::npos);
  EXPECT_EQ(json.at(0)["earlier"][0]["locks_known"], false);
}

TEST_F(CollectorTest, CodeOfAModuleThatIsGoneKeepsItsName) {
  Send(ModuleMessage{
      .begin = kBias + 0x1000, .end = kBias + 0x3000, .bias = kBias, .path = program->path(), .gone = true});
  Send(Race());
  EXPECT_NE(output.text.find("Hidden(int)"), std::string::npos) << output.text;
  // Something else takes its place.
  Send(ModuleMessage{
      .begin = kBias + 0x1000, .end = kBias + 0x3000, .bias = kBias, .path = "/gone/lib.so", .gone = false});
  RaceMessage other = Race();
  other.accesses.resize(1);
  Send(other);
  ExpectLine(fmt::format("    #0 /gone/lib.so+{:#x}", program->address("inlined")));
  EXPECT_NE(output.text.find("note: /gone/lib.so cannot be read"), std::string::npos) << output.text;
}

TEST_F(CollectorTest, ThreadsThatNobodyIntroducedAreShownByNumber) {
  RaceMessage race = Race();
  race.accesses[0].thread = 9;
  Send(race);
  ExpectLine("  thread T9 was created by a thread that is not known");
}

TEST_F(CollectorTest, AncestorsOfThreadsAreShownToWhoWantsThem) {
  const auto tell = [&](Collector& to) {
    ThreadMessage thread;
    thread.id = 1;
    thread.creator = 0;
    to.Consume(EncodeMessage(thread));
    thread.id = 2;
    thread.creator = 1;
    to.Consume(EncodeMessage(thread));
    RaceMessage race = Race();
    race.accesses[0].thread = 2;
    to.Consume(EncodeMessage(race));
  };
  Collector::Options options;
  options.form = TextForm::kFull;
  TextBuffer without;
  Collector brief(options, without);
  tell(brief);
  EXPECT_NE(without.text.find("thread T2"), std::string::npos) << without.text;
  EXPECT_EQ(without.text.find("thread T1 "), std::string::npos) << without.text;
  options.names_ancestors = true;
  TextBuffer with;
  Collector whole(options, with);
  tell(whole);
  EXPECT_NE(with.text.find("thread T2"), std::string::npos) << with.text;
  EXPECT_NE(with.text.find("thread T1 "), std::string::npos) << with.text;
}

TEST_F(CollectorTest, NotesAndDamagedMessagesAreTold) {
  Send(NoteMessage{.severity = 1, .text = "few threads"});
  ExpectLine("redflag: warning: few threads");
  std::vector<std::byte> damaged = EncodeMessage(Race());
  damaged.resize(damaged.size() - 8);
  for (int i = 0; i < 3; ++i) collector.Consume(damaged);
  EXPECT_NE(output.text.find("redflag: warning: a message of the program makes no sense"), std::string::npos);
  collector.Finish(4);
  ExpectLine("redflag: warning: 3 messages made no sense");
  ExpectLine("redflag: warning: 4 messages found no room: reports may be missing");
  EXPECT_EQ(collector.races(), 0u);
}

TEST_F(CollectorTest, ASuppressedRaceIsCountedAndNotPrinted) {
  Send(SuppressionsMessage{.is_file = false, .wants_usage = true, .text = "race:counter\nnonsense\nrace:nowhere\n"});
  EXPECT_EQ(output.text, "redflag: warning: 'nonsense' is no suppression: expected race:PATTERN\n");
  output.text.clear();
  Send(Race());
  Send(Race());
  EXPECT_EQ(output.text, "");
  EXPECT_EQ(collector.races(), 0u);
  EXPECT_EQ(collector.suppressed(), 2u);
  collector.Finish(0);
  EXPECT_EQ(output.text,
            "redflag: suppressions: 1 race matched by race:counter\nredflag: suppressions: nothing matched by "
            "race:nowhere\n");
  EXPECT_EQ(json.back()["unused_suppressions"], Json::array({"race:nowhere"}));
}

TEST_F(CollectorTest, ARaceHiddenByItsModuleNeedsNoNames) {
  Send(SuppressionsMessage{.is_file = false, .wants_usage = false, .text = "called_from_lib:" + program->path()});
  Send(Race());
  EXPECT_EQ(output.text, "");
  EXPECT_EQ(collector.suppressed(), 1u);
}

TEST_F(CollectorTest, AFingerprintHidesItsRaceAndASpecialVariableIsDemoted) {
  Send(SuppressionsMessage{.is_file = false, .wants_usage = false, .text = "special:counter"});
  Send(Race());
  EXPECT_EQ(json.at(0)["judgement"]["rank"], "low");
  TextBuffer other_output;
  Collector other({.detector = "hb", .pid = 1, .json = {}}, other_output);
  const std::string rule = "fingerprint:" + json[0]["fingerprint"].get<std::string>();
  for (const WireMessage& message : std::vector<WireMessage>{
           ModuleMessage{
               .begin = kBias + 0x1000, .end = kBias + 0x3000, .bias = kBias, .path = program->path(), .gone = false},
           SuppressionsMessage{.is_file = false, .wants_usage = false, .text = rule}, Race()}) {
    other.Consume(EncodeMessage(message));
  }
  EXPECT_EQ(other_output.text, "");
  EXPECT_EQ(other.suppressed(), 1u);
}

TEST_F(CollectorTest, AFileOfSuppressionsThatIsNotThereIsComplainedOf) {
  Send(SuppressionsMessage{.is_file = true, .wants_usage = false, .text = "/no/such/file"});
  EXPECT_EQ(output.text, "redflag: warning: cannot read the suppressions in /no/such/file\n");
}

TEST_F(CollectorTest, ATagNamesTheKindOfObject) {
  Send(TagMessage{.number = 2, .object_type = "Queue", .header = ""});
  RaceMessage race = Race();
  race.accesses[1].tag = 2;
  Send(race);
  EXPECT_NE(output.text.find("race on Queue"), std::string::npos) << output.text;
}

}  // namespace
}  // namespace redflag
