// What the text reader refuses, with the exact place and message of each error.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <variant>

#include "trace/text_reader.h"
#include "trace/text_tables.h"

namespace redflag {
namespace {

// LINE:COLUMN: MESSAGE
std::string ErrorOf(std::string_view text, const Limits& limits = {}) {
  TraceResult result = ReadTextTraceFromString(text, "t.trace", limits);
  const TraceError* error = std::get_if<TraceError>(&result);
  return error == nullptr ? "no error" : fmt::format("{}:{}: {}", error->line, error->column, error->message);
}

TEST(TextReaderErrorsTest, ALineMayBeAsLongAsTheLimitAndNoLonger) {
  std::string line = "T read x #";
  line.resize(65536, '-');
  const std::string message = "65537: the line has more than 65536 bytes";
  EXPECT_EQ(ErrorOf(line + "\r\nT read x"), "no error");
  EXPECT_EQ(ErrorOf("T read x\n" + line), "no error");
  EXPECT_EQ(ErrorOf(line + "-\n"), "1:" + message);
  EXPECT_EQ(ErrorOf("T read x\n" + line + "-"), "2:" + message);
  EXPECT_EQ(ErrorOf(line + "\r-\n"), "1:" + message) << "a CR that ends no line";
}

TEST(TextReaderErrorsTest, CharactersThatAreNotTextAreRefused) {
  EXPECT_EQ(ErrorOf(std::string_view("T read x\nT\0read x", 17)), "2:2: a NUL byte: this is not a text file");
  EXPECT_EQ(ErrorOf("T read x # \x07"), "1:12: control character U+0007");
  EXPECT_EQ(ErrorOf("T read\rx"), "1:7: control character U+000D");
  EXPECT_EQ(ErrorOf("T read x # \x7f"), "1:12: control character U+007F");
  EXPECT_EQ(ErrorOf("# \xc2\x85"), "1:3: control character U+0085");
  EXPECT_EQ(ErrorOf("# é\xff"), "1:4: byte 0xff is not valid UTF-8");
  EXPECT_EQ(ErrorOf("# \xc0\xaf"), "1:3: byte 0xc0 is not valid UTF-8") << "longer than needed";
  EXPECT_EQ(ErrorOf("# \xe0\x80\xaf"), "1:3: byte 0xe0 is not valid UTF-8") << "longer than needed";
  EXPECT_EQ(ErrorOf("# \xed\xa0\x80"), "1:3: byte 0xed is not valid UTF-8") << "surrogate";
  EXPECT_EQ(ErrorOf("# \xf4\x90\x80\x80"), "1:3: byte 0xf4 is not valid UTF-8") << "past the last plane";
  EXPECT_EQ(ErrorOf("# \xe2\x82"), "1:3: byte 0xe2 is not valid UTF-8") << "cut off";
}

TEST(TextReaderErrorsTest, ColumnsCountCharacters) {
  EXPECT_EQ(ErrorOf("T name \"ßß\" x"), "1:13: expected the end of the line, not 'x'");
  EXPECT_EQ(ErrorOf("\tT raed x"), "1:4: unknown verb 'raed'; did you mean 'read'?");
}

// Errors of the grammar.

TEST(TextReaderErrorsTest, ATraceWithoutEventsIsRefused) {
  const std::string message = "1:1: no events: a trace has at least one line such as 'main write x'";
  EXPECT_EQ(ErrorOf(""), message);
  EXPECT_EQ(ErrorOf("\n\n# nothing\n"), message);
  EXPECT_EQ(ErrorOf("threads A B\nvar x 8\nbarrier b 2\n"), message);
}

TEST(TextReaderErrorsTest, UnknownWordsGetASuggestion) {
  EXPECT_EQ(ErrorOf("T raed x"), "1:3: unknown verb 'raed'; did you mean 'read'?");
  EXPECT_EQ(ErrorOf("T Unlock m"), "1:3: unknown verb 'Unlock'; did you mean 'unlock'?");
  EXPECT_EQ(ErrorOf("T frobnicate m"), "1:3: unknown verb 'frobnicate'");
  EXPECT_EQ(ErrorOf("T xy m"), "1:3: unknown verb 'xy'");
  EXPECT_EQ(ErrorOf("T " + std::string(50, 'v') + " m"), "1:3: unknown verb '" + std::string(40, 'v') + "...'");
  EXPECT_EQ(ErrorOf("vars x 8"), "1:1: unknown declaration 'vars'; did you mean 'var'?");
  EXPECT_EQ(ErrorOf("thread A B"), "1:1: unknown declaration 'thread'; did you mean 'threads'?");
  EXPECT_EQ(ErrorOf("T load x aquire"), "1:10: unknown memory order 'aquire'; did you mean 'acquire'?");
  EXPECT_EQ(ErrorOf("T load x mo_7"), "1:10: unknown memory order 'mo_7'");
  EXPECT_EQ(ErrorOf("T read x !rase"), "1:10: unknown expectation '!rase'; did you mean 'race'?");
  EXPECT_EQ(ErrorOf("T read x !"), "1:10: unknown expectation '!'");
}

TEST(TextReaderErrorsTest, AnEventIsAThreadAndAVerb) {
  EXPECT_EQ(ErrorOf("T"), "1:2: expected a verb after thread 'T'");
  EXPECT_EQ(ErrorOf("T   # c"), "1:2: expected a verb after thread 'T'");
  EXPECT_EQ(ErrorOf("1T read x"), "1:1: expected a thread's name, not '1T'");
  EXPECT_EQ(ErrorOf("a::1 read x"), "1:1: expected a thread's name, not 'a::1'");
  EXPECT_EQ(ErrorOf("T fork var"), "1:8: 'var' begins a declaration and cannot name a thread");
}

TEST(TextReaderErrorsTest, OperandsMustBeThere) {
  EXPECT_EQ(ErrorOf("T read"), "1:7: expected memory: NAME, NAME+OFFSET:SIZE or 0xADDRESS:SIZE");
  EXPECT_EQ(ErrorOf("T read @f:1"), "1:8: expected memory: NAME, NAME+OFFSET:SIZE or 0xADDRESS:SIZE");
  EXPECT_EQ(ErrorOf("T load x"), "1:9: expected a memory order");
  EXPECT_EQ(ErrorOf("T fence"), "1:8: expected a memory order");
  EXPECT_EQ(ErrorOf("T lock"), "1:7: expected a name");
  EXPECT_EQ(ErrorOf("T arrive"), "1:9: expected a barrier's name");
  EXPECT_EQ(ErrorOf("T fork"), "1:7: expected a thread's name");
  EXPECT_EQ(ErrorOf("T name"), "1:7: expected a text in quotes");
  EXPECT_EQ(ErrorOf("T alloc"), "1:8: expected a block's name");
  EXPECT_EQ(ErrorOf("T alloc p"), "1:10: expected a size");
  EXPECT_EQ(ErrorOf("T alloc p 8 at"), "1:15: expected an address or the name of a variable");
  EXPECT_EQ(ErrorOf("T free"), "1:7: expected a block's name");
  EXPECT_EQ(ErrorOf("T enter"), "1:8: expected a function's name");
  EXPECT_EQ(ErrorOf("T ignore-reads"), "1:15: expected 'begin' or 'end'");
  EXPECT_EQ(ErrorOf("T condvar-wait"), "1:15: expected a condition variable's name");
  EXPECT_EQ(ErrorOf("T condvar-wait c"), "1:17: expected a lock's name");
  EXPECT_EQ(ErrorOf("threads"), "1:8: expected a thread's name");
  EXPECT_EQ(ErrorOf("var"), "1:4: expected a variable's name");
  EXPECT_EQ(ErrorOf("var x"), "1:6: expected a size");
  EXPECT_EQ(ErrorOf("barrier b"), "1:10: expected a number of parties");
  EXPECT_EQ(ErrorOf("object m"), "1:9: expected 'at'");
  EXPECT_EQ(ErrorOf("object m at"), "1:12: expected an address or the name of a variable");
  EXPECT_EQ(ErrorOf("T told 0x1000"), "1:14: expected a mask of bytes");
}

TEST(TextReaderErrorsTest, OperandsMustBeOfTheirKind) {
  EXPECT_EQ(ErrorOf("T read 12"), "1:8: expected memory, not '12'");
  EXPECT_EQ(ErrorOf("T lock 0x1"), "1:8: expected a name, not '0x1'");
  EXPECT_EQ(ErrorOf("T lock m+1"), "1:8: expected a name, not 'm+1'");
  EXPECT_EQ(ErrorOf("T name x"), "1:8: expected a text in quotes, not 'x'");
  EXPECT_EQ(ErrorOf("T name \"x\"y"), "1:8: expected a text in quotes, not '\"x\"y'");
  EXPECT_EQ(ErrorOf("T enter f()"), "1:9: expected a function's name, not 'f()'");
  EXPECT_EQ(ErrorOf("T ignore-reads start"), "1:16: expected 'begin' or 'end', not 'start'");
  EXPECT_EQ(ErrorOf("T alloc 7 8"), "1:9: expected a block's name, not '7'");
  EXPECT_EQ(ErrorOf("T alloc p q"), "1:11: expected a size from 1 to 1099511627776, not 'q'");
  EXPECT_EQ(ErrorOf("T free p:8"), "1:8: expected a block's name, not 'p:8'");
  EXPECT_EQ(ErrorOf("threads A 2"), "1:11: expected a thread's name, not '2'");
  EXPECT_EQ(ErrorOf("var 9 8"), "1:5: expected a variable's name, not '9'");
  EXPECT_EQ(ErrorOf("object m in 0x1"), "1:10: expected 'at', not 'in'");
  EXPECT_EQ(ErrorOf("object m at 0x0"), "1:13: no object is at address 0");
  EXPECT_EQ(ErrorOf("object m at 0xffffffffffffffff\nT notify m"), "no error");  // it is a place, and has no bytes
  EXPECT_EQ(ErrorOf("T told x 1"), "1:8: expected an address, not 'x'");
  EXPECT_EQ(ErrorOf("T told 0x8 256"), "1:12: expected a mask of bytes from 1 to 255, not '256'");
  EXPECT_EQ(ErrorOf("object b at 0x8\nT arrive b"),
            "2:10: 'b' is an object since line 1, it cannot be used as a barrier");
  EXPECT_EQ(ErrorOf("object m at 0x8\nT lock m\nT signal m"),
            "3:10: 'm' is a lock since line 1, it cannot be used as a signal");
  EXPECT_EQ(ErrorOf("object m at 0x8\nT read m"), "2:8: 'm' is an object since line 1, it cannot be used as memory");
  EXPECT_EQ(ErrorOf("T lock " + std::string(1025, 'm')), "1:8: the name has more than 1024 bytes");
}

TEST(TextReaderErrorsTest, NothingFollowsACompleteLine) {
  EXPECT_EQ(ErrorOf("T read x y"), "1:10: expected the end of the line, not 'y'");
  EXPECT_EQ(ErrorOf("T end now"), "1:7: expected the end of the line, not 'now'");
  EXPECT_EQ(ErrorOf("T read x @f:1 @f:2"), "1:15: expected the end of the line, not '@f:2'");
  EXPECT_EQ(ErrorOf("T read x !race @f:2"), "1:16: expected the end of the line, not '@f:2'");
  EXPECT_EQ(ErrorOf("var x 8 9"), "1:9: expected the end of the line, not '9'");
  EXPECT_EQ(ErrorOf("barrier b 2 3"), "1:13: expected the end of the line, not '3'");
}

TEST(TextReaderErrorsTest, QuotesAreClosedAndEscapesKnown) {
  EXPECT_EQ(ErrorOf("T name \"abc"), "1:8: the quote is not closed");
  EXPECT_EQ(ErrorOf("T name \"abc\\\""), "1:8: the quote is not closed");
  EXPECT_EQ(ErrorOf("T read x @\"abc:1"), "1:11: the quote is not closed");
  const std::string escapes = ": unknown escape: there are \\\" \\\\ \\n \\t and \\xHH";
  EXPECT_EQ(ErrorOf(R"(T name "ab\q")"), "1:11" + escapes);
  EXPECT_EQ(ErrorOf(R"(T name "ab\x4")"), "1:11" + escapes);
  EXPECT_EQ(ErrorOf(R"(T name "ab\xg0")"), "1:11" + escapes);
  EXPECT_EQ(ErrorOf("T name \"" + std::string(4097, 'x') + "\""), "1:8: the text has more than 4096 bytes");
}

TEST(TextReaderErrorsTest, MalformedMemoryIsPointedAt) {
  EXPECT_EQ(ErrorOf("T read x+"), "1:10: expected an offset, not ''");
  EXPECT_EQ(ErrorOf("T read x+y"), "1:10: expected an offset, not 'y'");
  EXPECT_EQ(ErrorOf("T read x:"), "1:10: expected a size, not ''");
  EXPECT_EQ(ErrorOf("T read x:4:4"), "1:11: expected '+OFFSET', ':SIZE' or a blank, not ':4'");
  EXPECT_EQ(ErrorOf("T read x*4"), "1:9: expected '+OFFSET', ':SIZE' or a blank, not '*4'");
  EXPECT_EQ(ErrorOf("T read 0x10"), "1:12: expected ':SIZE' after the address");
  EXPECT_EQ(ErrorOf("T read 0x:4"), "1:8: expected an address, not '0x'");
  EXPECT_EQ(ErrorOf("T read 0x10000000000000000:4"), "1:8: expected an address, not '0x10000000000000000'");
  EXPECT_EQ(ErrorOf("T read 0x10:z"), "1:13: expected a size, not 'z'");
  EXPECT_EQ(ErrorOf("T read x:99999999999999999999"), "1:10: expected a size, not '99999999999999999999'");
}

TEST(TextReaderErrorsTest, AnOperandStaysInsideItsVariable) {
  EXPECT_EQ(ErrorOf("var x 16\nT read x:17"), "2:8: 'x:17' is outside 'x', which has 16 bytes");
  EXPECT_EQ(ErrorOf("var x 16\nT read x+16"), "2:8: 'x+16' is outside 'x', which has 16 bytes");
  EXPECT_EQ(ErrorOf("var x 16\nT read x+12:5"), "2:8: 'x+12:5' is outside 'x', which has 16 bytes");
  EXPECT_EQ(ErrorOf("T read x+1:8"), "1:8: 'x+1:8' is outside 'x', which has 8 bytes");
  EXPECT_EQ(ErrorOf("T read x:0"), "1:8: 'x:0' has no bytes");
}

TEST(TextReaderErrorsTest, DeclarationsAreInOrder) {
  EXPECT_EQ(ErrorOf("A read x\nthreads B"), "2:1: 'threads' must come before the first event");
  EXPECT_EQ(ErrorOf("threads A B A"), "1:13: thread 'A' is declared twice");
  EXPECT_EQ(ErrorOf("threads A var"), "1:11: 'var' begins a declaration and cannot name a thread");
  EXPECT_EQ(ErrorOf("var x 8\nvar x 8"), "2:5: 'x' is a variable since line 1, it cannot be declared as a variable");
  EXPECT_EQ(ErrorOf("T read x\nbarrier x 2"),
            "2:9: 'x' is a variable since line 1, it cannot be declared as a barrier");
  EXPECT_EQ(ErrorOf("T lock m\nvar m 2"), "2:5: 'm' is a lock since line 1, it cannot be declared as a variable");
}

TEST(TextReaderErrorsTest, DeclarationsHaveLimits) {
  EXPECT_EQ(ErrorOf("var x 0"), "1:7: expected a size from 1 to 1099511627776, not '0'");
  EXPECT_EQ(ErrorOf("var x 1099511627777"), "1:7: expected a size from 1 to 1099511627776, not '1099511627777'");
  EXPECT_EQ(ErrorOf("var x 8 align 3"), "1:15: an alignment is a power of two, not 3");
  EXPECT_EQ(ErrorOf("var x 8 align 0"), "1:15: expected an alignment from 1 to 1048576, not '0'");
  EXPECT_EQ(ErrorOf("var x 8 align 16 at 0x1008"), "1:21: address 0x1008 is not a multiple of 16");
  EXPECT_EQ(ErrorOf("var x 8 at 0xfffffffffffffff8"),
            "1:12: 0xfffffffffffffff8:8 goes past the end of the address space");
  EXPECT_EQ(ErrorOf("var x 8 at 0xg"), "1:12: expected an address, not '0xg'");
  EXPECT_EQ(ErrorOf("var x 8 at y"), "1:12: expected an address or the name of a known variable, not 'y'");
  EXPECT_EQ(ErrorOf("var y 8\nvar x 8 at y:4"), "2:12: a place has no size: write NAME or NAME+OFFSET");
  EXPECT_EQ(ErrorOf("var y 8\nvar x 8 at y+8"), "2:12: 'y+8' is outside 'y', which has 8 bytes");
  EXPECT_EQ(ErrorOf("barrier b 0"), "1:11: expected a number of parties from 1 to 65536, not '0'");
  EXPECT_EQ(ErrorOf("barrier b 65537"), "1:11: expected a number of parties from 1 to 65536, not '65537'");
  EXPECT_EQ(ErrorOf("var x 1 at 0x10000\nvar y 1099511627776 at 0x10000\nvar z 8\nT read z+8"),
            "4:8: 'z+8' is outside 'z', which has 8 bytes");
}

TEST(TextReaderErrorsTest, TheAddressSpaceCanBeUsedUp) {
  AddressPlan plan;
  plan.Take(Addr{0x20000}, UINT64_MAX - 0x20000 - 7);
  EXPECT_EQ(plan.Fresh(0x10000, 16), Addr{0x10000}) << "right up to what is taken";
  EXPECT_EQ(plan.Fresh(8, 8), std::nullopt) << "it would end past the last address";
  EXPECT_EQ(plan.Fresh(4, 16), std::nullopt) << "no aligned address is left";
  EXPECT_EQ(plan.Fresh(6, 1), Addr{UINT64_MAX - 7});
}

TEST(TextReaderErrorsTest, LimitsOfTheCallerHold) {
  EXPECT_EQ(ErrorOf("T read x\nT read x\nT read x", Limits{.max_events = 2}), "3:1: the trace has more than 2 events");
  EXPECT_EQ(ErrorOf("T read x\nT commit r x", Limits{.max_events = 2}), "2:1: the trace has more than 2 events");
  EXPECT_EQ(ErrorOf("T read x\nT read x", Limits{.max_events = 2}), "no error");
  EXPECT_EQ(ErrorOf("T read xxxx", Limits{.max_line = 10}), "1:11: the line has more than 10 bytes");
  EXPECT_EQ(ErrorOf("threads A B\nvar x 8\nA read x", Limits{.max_declarations = 2}),
            "2:5: more than 2 names are declared");
}

TEST(TextReaderErrorsTest, ANameIsOneKindOfThing) {
  EXPECT_EQ(ErrorOf("T read x\nT lock x"), "2:8: 'x' is a variable since line 1, it cannot be used as a lock");
  EXPECT_EQ(ErrorOf("T lock m\nT read m:4"), "2:8: 'm' is a lock since line 1, it cannot be used as memory");
  EXPECT_EQ(ErrorOf("\nT signal h\nT post h"), "3:8: 'h' is a signal since line 2, it cannot be used as a semaphore");
  EXPECT_EQ(ErrorOf("T notify c\nT wait c"),
            "2:8: 'c' is a condition variable since line 1, it cannot be used as a signal");
  EXPECT_EQ(ErrorOf("barrier b 2\nT lock b"), "2:8: 'b' is a barrier since line 1, it cannot be used as a lock");
  EXPECT_EQ(ErrorOf("T post s\nT arrive s"), "2:10: 's' is a semaphore since line 1, it cannot be used as a barrier");
  EXPECT_EQ(ErrorOf("T alloc p 8\nT lock p"),
            "2:8: 'p' is an allocated block since line 1, it cannot be used as a lock");
  EXPECT_EQ(ErrorOf("T read x\nT alloc x 8"), "2:9: 'x' is a variable since line 1, it cannot be allocated");
  EXPECT_EQ(ErrorOf("var x 8\nT alloc x 8"), "2:9: 'x' is a variable since line 1, it cannot be allocated");
  EXPECT_EQ(ErrorOf("T read x\nT free x"), "2:8: 'x' is a variable since line 1, it cannot be freed");
  EXPECT_EQ(ErrorOf("T read x\nT condvar-wait c x"),
            "2:18: 'x' is a variable since line 1, it cannot be used as a lock");
}

TEST(TextReaderErrorsTest, BlocksAreAllocatedAndFreedInTurn) {
  EXPECT_EQ(ErrorOf("T alloc p 8\nT alloc p 8"), "2:9: block 'p' is allocated already");
  EXPECT_EQ(ErrorOf("T free p"), "1:8: block 'p' has not been allocated");
  EXPECT_EQ(ErrorOf("T alloc p 8\nT free p\nT free p"), "3:8: block 'p' has been freed already, on line 2");
  EXPECT_EQ(ErrorOf("T alloc p 8 at 0x100\nT free 0x100:8\nT free p"), "3:8: no live allocation begins at 0x100");
}

TEST(TextReaderErrorsTest, ABarrierIsDeclaredBeforeItIsUsed) {
  EXPECT_EQ(ErrorOf("T arrive b"), "1:10: barrier 'b' is not declared: write 'barrier b PARTIES' before");
}

TEST(TextReaderErrorsTest, ACondvarWaitNeedsItsLock) {
  EXPECT_EQ(ErrorOf("T condvar-wait c m"), "1:18: lock 'm' is not held by 'T'");
  EXPECT_EQ(ErrorOf("threads T U\nU lock m\nT condvar-wait c m"), "3:18: lock 'm' is not held by 'T'");
}

TEST(TextReaderErrorsTest, ACompareExchangeIsSpelledOut) {
  const std::string failure = "the order of a failed cas is relaxed, acquire or seq_cst";
  EXPECT_EQ(ErrorOf("T cas x acq_rel release ok"), "1:17: " + failure);
  EXPECT_EQ(ErrorOf("T cas x acq_rel acq_rel fail"), "1:17: " + failure);
  EXPECT_EQ(ErrorOf("T cas x acq_rel"), "1:16: expected a memory order");
  EXPECT_EQ(ErrorOf("T cas x acq_rel relaxed"), "1:24: expected 'ok' or 'fail'");
  EXPECT_EQ(ErrorOf("T cas x acq_rel relaxed maybe"), "1:25: expected 'ok' or 'fail', not 'maybe'");
}

TEST(TextReaderErrorsTest, ACommitHasPartsWithMemory) {
  EXPECT_EQ(ErrorOf("T commit x"), "1:10: expected 'r' or 'w' before 'x'");
  EXPECT_EQ(ErrorOf("T commit r"), "1:11: expected memory after 'r'");
  EXPECT_EQ(ErrorOf("T commit r x w"), "1:15: expected memory after 'w'");
  EXPECT_EQ(ErrorOf("T commit r w x"), "1:12: expected memory after 'r'");
  EXPECT_EQ(ErrorOf("T commit"), "1:3: the transaction is empty: it reads and writes nothing");
}

TEST(TextReaderErrorsTest, PositionsAreWellFormed) {
  const std::string message = "1:10: a position is written @FILE:LINE or @FILE:LINE:COLUMN";
  for (const char* position : {"@", "@f", "@f:", "@f:x", "@:3", "@3", "@f:99999999999", "@\"f\"", "@\"f\"x:3"}) {
    EXPECT_EQ(ErrorOf(std::string("T read x ") + position), message) << position;
  }
  EXPECT_EQ(ErrorOf("T read x @" + std::string(4097, 'f') + ":1"), "1:10: the file name has more than 4096 bytes");
}

TEST(TextReaderErrorsTest, ExpectationsAreWellFormed) {
  EXPECT_EQ(ErrorOf("T read x !race("), "1:16: expected a detector's name");
  EXPECT_EQ(ErrorOf("T read x !race()"), "1:16: expected a detector's name");
  EXPECT_EQ(ErrorOf("T read x !race(hb"), "1:18: expected ',' or ')'");
  EXPECT_EQ(ErrorOf("T read x !race(hb eraser)"), "1:19: expected ',' or ')'");
  EXPECT_EQ(ErrorOf("T read x !race(hb)x"), "1:19: expected a blank after the expectation");
  EXPECT_EQ(ErrorOf("T read x !race: why"), "1:15: expected a blank after the expectation");
  EXPECT_EQ(ErrorOf("T read x !miss: why"), "1:15: expected '(DETECTOR)' after '!miss'");
  EXPECT_EQ(ErrorOf("T read x !miss(hb)"), "1:19: expected ': REASON' after '!miss(...)'");
  EXPECT_EQ(ErrorOf("T read x !miss(hb):  "), "1:22: expected the reason why the race is missed");
  EXPECT_EQ(ErrorOf("T read x !miss(hb): " + std::string(4097, 'w')), "1:21: the reason has more than 4096 bytes");
  EXPECT_EQ(ErrorOf("T read x !race(" + std::string(65, 'd') + ")"), "1:16: expected a detector's name");
  EXPECT_EQ(ErrorOf("var x 8 !race"), "1:9: expected the end of the line, not '!race'");
}

TEST(TextReaderErrorsTest, ExpectationsOfALineDoNotSpeakOfADetectorTwice) {
  EXPECT_EQ(ErrorOf("T read x !race(hb) !norace(hb)"), "1:20: this line already says what is expected of 'hb'");
  EXPECT_EQ(ErrorOf("T read x !race !norace"), "1:16: this line already says what is expected of every detector");
  std::string many = "T read x";
  std::string names = "a0";
  for (int i = 1; i <= 64; ++i) names += fmt::format(",a{}", i);
  for (int i = 0; i <= 16; ++i) many += fmt::format(" !race(d{})", i);
  EXPECT_EQ(ErrorOf(many), "1:176: an event has at most 16 expectations");
  EXPECT_EQ(ErrorOf("T read x !race(" + names + ")"), "1:10: an event names at most 64 detectors in its expectations");
}

// Errors of meaning come from TraceChecker; each part of an event has its place.

TEST(TextReaderErrorsTest, ProblemsOfTheTraceArePointedAt) {
  EXPECT_EQ(ErrorOf("A read x\nB read x"), "2:1: thread 'B' does not exist: it is neither initial nor forked");
  EXPECT_EQ(ErrorOf("A join B"), "1:8: thread 'B' does not exist: it is neither initial nor forked");
  EXPECT_EQ(ErrorOf("A fork B\nA fork B"), "2:8: thread 'B' exists already");
  EXPECT_EQ(ErrorOf("A end\nA read x"), "2:1: thread 'A' has ended");
  EXPECT_EQ(ErrorOf("threads A B\nA lock m @f:1\n B  lock m"),
            "3:10: lock 'm' cannot be taken for writing: it is held for writing by 'A'");
  EXPECT_EQ(ErrorOf("A exit"), "1:3: thread 'A' is in no function that it could exit");
  EXPECT_EQ(ErrorOf("A load x release"), "1:10: a load is relaxed, acquire or seq_cst");
  EXPECT_EQ(ErrorOf("A cas x release acquire fail\nA store x acquire"), "2:11: a store is relaxed, release or seq_cst");
  EXPECT_EQ(ErrorOf("A fence relaxed"), "1:9: a relaxed fence does nothing: use acquire, release, acq_rel or seq_cst");
  EXPECT_EQ(ErrorOf("A load x:3 relaxed"), "1:8: an atomic access has 1, 2, 4, 8 or 16 bytes, not 3");
  EXPECT_EQ(ErrorOf("var x 1048577\nA commit r y w x"), "2:16: an access has 1 to 1048576 bytes, not 1048577");
  EXPECT_EQ(ErrorOf("A alloc p 8\nA alloc q 8 at p"), "2:9: 0x10000:8 overlaps the live allocation 0x10000:8");
  EXPECT_EQ(ErrorOf("A read 0xffffffffffffffff:1"), "1:8: 0xffffffffffffffff:1 goes past the end of the address space");
  EXPECT_EQ(ErrorOf("barrier b 2\nA arrive b\nA leave b"),
            "3:3: thread 'A' cannot leave barrier 'b': 1 of 2 threads have arrived");
}

// How errors look.

TEST(TextReaderErrorsTest, AnErrorShowsItsLineWithACaret) {
  TraceResult result = ReadTextTraceFromString("T read x\n\tT raed x", "dir/t.trace");
  ASSERT_TRUE(std::holds_alternative<TraceError>(result));
  EXPECT_EQ(FormatError(std::get<TraceError>(result), "dir/t.trace"),
            "dir/t.trace:2:4: error: unknown verb 'raed'; did you mean 'read'?\n"
            "  \tT raed x\n"
            "  \t  ^\n");
}

TEST(TextReaderErrorsTest, AnErrorWithoutALineIsOneLine) {
  TraceResult result = ReadTextTraceFromString("", "t");
  ASSERT_TRUE(std::holds_alternative<TraceError>(result));
  EXPECT_EQ(FormatError(std::get<TraceError>(result), "t"),
            "t:1:1: error: no events: a trace has at least one line such as 'main write x'\n");
}

TEST(TextReaderErrorsTest, ALongLineIsCutAroundTheError) {
  std::string line = "T commit r";
  for (int i = 0; i < 100; ++i) line += fmt::format(" variable{:02}", i);
  line += " ?";
  for (int i = 0; i < 100; ++i) line += fmt::format(" variable{:02}", i);
  TraceResult result = ReadTextTraceFromString(line, "t");
  ASSERT_TRUE(std::holds_alternative<TraceError>(result));
  const TraceError& error = std::get<TraceError>(result);
  EXPECT_EQ(error.column, 1112u);
  EXPECT_EQ(error.source.size(), 126u);
  EXPECT_EQ(error.source[error.source_column - 1], '?');
  EXPECT_TRUE(error.source.starts_with("..."));
  EXPECT_TRUE(error.source.ends_with("..."));
}

TEST(TextReaderErrorsTest, WhatCannotBeShownIsReplaced) {
  TraceResult result = ReadTextTraceFromString("# é\x1b[2J\xff", "t");
  ASSERT_TRUE(std::holds_alternative<TraceError>(result));
  EXPECT_EQ(FormatError(std::get<TraceError>(result), "t"),
            "t:1:4: error: control character U+001B\n"
            "  # é?[2J?\n"
            "     ^\n");
}

}  // namespace
}  // namespace redflag
