#include "trace/text_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

#include "trace/checker.h"
#include "trace/text_expectation.h"
#include "trace/text_lexer.h"
#include "trace/text_names.h"
#include "trace/text_tables.h"
#include "trace/text_verbs.h"

namespace redflag {
namespace {

constexpr uint64_t kMaxAlign = uint64_t{1} << 20;
constexpr size_t kMaxExpectations = 16;      // on one event
constexpr size_t kMaxExpectationNames = 64;  // likewise

bool IsDeclaration(std::string_view word) {
  return std::ranges::find(DeclarationWords(), word) != DeclarationWords().end();
}

class Reader {
 public:
  Reader(std::istream& in, std::string_view name, const Limits& limits)
      : source_(in, limits.max_line), limits_(limits), checker_(&trace_) {
    trace_.name = name;
  }

  TraceResult Run();

 private:
  // An event of the current line that still lacks its position, and the tokens it came from.
  struct Pending {
    Event event;
    size_t object_offset;
    size_t order_offset;
  };
  using Bytes = TextNames::Bytes;

  void ReadLine();
  void ReadThreads(const Token& first);
  void ReadVar();
  void ReadBarrier();
  void ReadObject();
  void ReadEvent(const Token& thread);
  void ReadOperands(const Verb& verb, Tid thread);
  Event OnSync(const Verb& verb, Tid thread, const Token& name);
  void ReadCommit(Tid thread);
  void ReadAlloc(Tid thread);
  void ReadFree(Tid thread);
  void ReadCas(Tid thread);
  void ReadExpectations();
  void Finish(const Token& thread, const Token& verb);

  Token Expect(std::string_view what);
  Token ExpectName(std::string_view what);
  uint64_t ExpectNumber(std::string_view what, uint64_t least, uint64_t most);
  MemoryOrder ExpectOrder(size_t& offset);
  void ExpectEnd();
  bool AtTail() const;

  Tid FindThread(const Token& token, bool acts);
  Tid AddThread(const Token& token);
  Bytes ExpectBytes();
  Addr ReadPlace(uint64_t size);
  void CountDeclaration(const Token& token);

  LineSource source_;
  const Limits limits_;
  Trace trace_;
  TraceChecker checker_;
  Cursor cursor_{{}};

  StringTable thread_ids_;
  StringTable function_ids_;
  StringTable text_ids_;
  PositionTable positions_;
  TextNames names_{trace_};
  uint64_t declarations_ = 0;
  std::vector<Pending> pending_;
};

TraceResult Reader::Run() {
  try {
    while (source_.Next()) ReadLine();
  } catch (const LineError& error) {
    return ErrorAt(std::max(source_.number(), 1u), source_.line(), error.offset, error.message);
  }
  if (trace_.events.empty()) {
    return ErrorAt(1, {}, 0, "no events: a trace has at least one line such as 'main write x'");
  }
  return std::move(trace_);
}

void Reader::ReadLine() {
  cursor_ = Cursor(source_.line());
  names_.set_line(source_.number());
  Token first = cursor_.Next();
  if (first.text.empty()) return;
  if (first.text == "threads") {
    ReadThreads(first);
  } else if (first.text == "var") {
    ReadVar();
  } else if (first.text == "barrier") {
    ReadBarrier();
  } else if (first.text == "object") {
    ReadObject();
  } else {
    ReadEvent(first);
  }
}

// Declarations.

void Reader::ReadThreads(const Token& first) {
  if (!trace_.events.empty()) Fail(first.offset, "'threads' must come before the first event");
  Token token = ExpectName("a thread's name");
  while (true) {
    CountDeclaration(token);
    if (thread_ids_.Find(token.text)) Fail(token.offset, "thread {} is declared twice", Shown(token.text));
    Tid thread = AddThread(token);
    trace_.initial_threads.push_back(thread);
    checker_.AddInitialThread(thread);
    if (cursor_.Peek().text.empty()) break;
    token = ExpectName("a thread's name");
  }
}

void Reader::ReadVar() {
  Token name = ExpectName("a variable's name");
  CountDeclaration(name);
  uint64_t size = ExpectNumber("a size", 1, TraceChecker::kMaxRange);
  uint64_t align = AddressPlan::kUsualAlign;
  bool aligned = cursor_.Peek().text == "align";
  if (aligned) {
    cursor_.Next();
    size_t offset = cursor_.Peek().offset;
    align = ExpectNumber("an alignment", 1, kMaxAlign);
    if ((align & (align - 1)) != 0) Fail(offset, "an alignment is a power of two, not {}", align);
  }
  Addr addr{};
  if (cursor_.Peek().text == "at") {
    cursor_.Next();
    size_t offset = cursor_.Peek().offset;
    addr = ReadPlace(size);
    if (aligned && (Raw(addr) & (align - 1)) != 0) {
      Fail(offset, "address {:#x} is not a multiple of {}", Raw(addr), align);
    }
  } else {
    addr = names_.FreshPlace(name, size, align);
  }
  ExpectEnd();
  names_.Declare(name, Symbol{.meaning = Symbol::Meaning::kVariable, .addr = addr, .size = size});
  names_.AddRange(name.text, addr, size);
}

void Reader::ReadBarrier() {
  Token name = ExpectName("a barrier's name");
  CountDeclaration(name);
  uint64_t parties = ExpectNumber("a number of parties", 1, TraceChecker::kMaxBarrierParties);
  ExpectEnd();
  names_.Declare(name, Symbol{.meaning = Symbol::Meaning::kBarrier, .parties = parties});
}

void Reader::ReadObject() {
  Token name = ExpectName("an object's name");
  CountDeclaration(name);
  Token at = Expect("'at'");
  if (at.text != "at") Fail(at.offset, "expected 'at', not {}", Shown(at.text));
  size_t offset = cursor_.Peek().offset;
  Addr addr = ReadPlace(0);
  if (addr == Addr{}) Fail(offset, "no object is at address 0");
  ExpectEnd();
  names_.Declare(name, Symbol{.meaning = Symbol::Meaning::kObject, .addr = addr});
}

void Reader::CountDeclaration(const Token& token) {
  if (++declarations_ > limits_.max_declarations) {
    Fail(token.offset, "more than {} names are declared", limits_.max_declarations);
  }
}

// Events.

void Reader::ReadEvent(const Token& thread) {
  Token word = cursor_.Next();
  const Verb* verb = FindVerb(word.text);
  bool known = thread_ids_.Find(thread.text).has_value();
  if (verb == nullptr && !known && !Nearest(thread.text, DeclarationWords()).empty()) {
    Fail(thread.offset, "unknown declaration {}{}", Shown(thread.text), Suggestion(thread.text, DeclarationWords()));
  }
  if (!IsName(thread.text)) Fail(thread.offset, "expected a thread's name, not {}", Shown(thread.text));
  if (word.text.empty()) Fail(word.offset, "expected a verb after thread {}", Shown(thread.text));
  if (verb == nullptr) {
    Fail(word.offset, "unknown verb {}{}", Shown(word.text), Suggestion(word.text, VerbWords()));
  }
  Tid tid = FindThread(thread, true);
  pending_.clear();
  ReadOperands(*verb, tid);
  Finish(thread, word);
}

void Reader::ReadOperands(const Verb& verb, Tid thread) {
  auto emit = [&](const Event& event, size_t object_offset, size_t order_offset) {
    pending_.push_back(Pending{event, object_offset, order_offset});
  };
  size_t offset = cursor_.Peek().offset;
  size_t order_offset = offset;
  switch (verb.shape) {
    case Shape::kBare:
      return emit(Event::OnThread(verb.kind, thread), offset, offset);
    case Shape::kMemory: {
      Bytes bytes = ExpectBytes();
      Event event = Event::OnMemory(verb.kind, thread, bytes.addr, bytes.size);
      event.flag = verb.flag;
      return emit(event, offset, offset);
    }
    case Shape::kAtomic: {
      Bytes bytes = ExpectBytes();
      MemoryOrder order = ExpectOrder(order_offset);
      return emit(Event::OnMemory(verb.kind, thread, bytes.addr, bytes.size, order), offset, order_offset);
    }
    case Shape::kCas:
      return ReadCas(thread);
    case Shape::kFence: {
      MemoryOrder order = ExpectOrder(order_offset);
      return emit(Event::OnThread(verb.kind, thread, order), offset, order_offset);
    }
    case Shape::kSync: {
      Event event = OnSync(verb, thread, ExpectName("a name"));
      event.flag = verb.flag;
      return emit(event, offset, offset);
    }
    case Shape::kTold: {
      Token place = Expect("an address");
      std::optional<uint64_t> addr = ParseNumber(place.text);
      if (!addr) Fail(place.offset, "expected an address, not {}", Shown(place.text));
      offset = cursor_.Peek().offset;
      return emit(Event::OnMemory(verb.kind, thread, Addr{*addr}, ExpectNumber("a mask of bytes", 1, 255)), offset,
                  offset);
    }
    case Shape::kBarrier: {
      Token name = ExpectName("a barrier's name");
      if (names_.Find(name.text) == nullptr) {
        Fail(name.offset, "barrier {} is not declared: write 'barrier {} PARTIES' before", Shown(name.text),
             name.text.substr(0, 40));
      }
      Event event = Event::OnObject(verb.kind, thread, Raw(names_.FindSync(name, verb.sync)));
      event.size = names_.Find(name.text)->parties;
      return emit(event, offset, offset);
    }
    case Shape::kCondvarWait: {
      Event event = OnSync(verb, thread, ExpectName("a condition variable's name"));
      Token lock = ExpectName("a lock's name");
      const Symbol* symbol = names_.Find(lock.text);
      if (symbol != nullptr && symbol->meaning != Symbol::Meaning::kLock) {
        TextNames::WrongMeaning(lock, *symbol, "used as a lock");
      }
      if (symbol == nullptr || !checker_.Holds(thread, symbol->sync)) {
        Fail(lock.offset, "lock {} is not held by '{}'", Shown(lock.text), trace_.threads[Raw(thread)]);
      }
      return emit(event, offset, offset);
    }
    case Shape::kFork: {
      Token name = ExpectName("a thread's name");
      std::optional<uint32_t> known = thread_ids_.Find(name.text);
      uint32_t child = known ? *known : Raw(AddThread(name));
      return emit(Event::OnObject(verb.kind, thread, child), offset, offset);
    }
    case Shape::kJoin: {
      Tid child = FindThread(ExpectName("a thread's name"), false);
      return emit(Event::OnObject(verb.kind, thread, Raw(child)), offset, offset);
    }
    case Shape::kText: {
      Token text = Expect("a text in quotes");
      if (!IsQuoted(text.text)) Fail(text.offset, "expected a text in quotes, not {}", Shown(text.text));
      uint32_t id = text_ids_.Intern(Unquote(text), trace_.texts);
      return emit(Event::OnObject(verb.kind, thread, id), offset, offset);
    }
    case Shape::kCommit:
      return ReadCommit(thread);
    case Shape::kAlloc:
      return ReadAlloc(thread);
    case Shape::kFree:
      return ReadFree(thread);
    case Shape::kFunction: {
      bool quoted = IsQuoted(cursor_.Peek().text);
      Token name = quoted ? cursor_.Next() : ExpectName("a function's name");
      uint32_t id = function_ids_.Intern(quoted ? Unquote(name) : std::string(name.text), trace_.functions);
      return emit(Event::OnObject(verb.kind, thread, id), offset, offset);
    }
    case Shape::kRegion: {
      Token edge = Expect("'begin' or 'end'");
      if (edge.text != "begin" && edge.text != "end") {
        Fail(edge.offset, "expected 'begin' or 'end', not {}", Shown(edge.text));
      }
      EventKind kind = edge.text == "begin" ? verb.kind : RegionEnd(verb.kind);
      return emit(Event::OnThread(kind, thread), offset, offset);
    }
  }
}

Event Reader::OnSync(const Verb& verb, Tid thread, const Token& name) {
  Event event = Event::OnObject(verb.kind, thread, Raw(names_.FindSync(name, verb.sync)), verb.mode);
  event.addr = names_.Find(name.text)->addr;
  return event;
}

void Reader::ReadCas(Tid thread) {
  size_t offset = cursor_.Peek().offset;
  Bytes bytes = ExpectBytes();
  size_t success_offset = 0;
  MemoryOrder success = ExpectOrder(success_offset);
  size_t failure_offset = 0;
  MemoryOrder failure = ExpectOrder(failure_offset);
  if (Releases(failure) && failure != MemoryOrder::kSeqCst) {
    Fail(failure_offset, "the order of a failed cas is relaxed, acquire or seq_cst");
  }
  Token outcome = Expect("'ok' or 'fail'");
  if (outcome.text != "ok" && outcome.text != "fail") {
    Fail(outcome.offset, "expected 'ok' or 'fail', not {}", Shown(outcome.text));
  }
  bool wrote = outcome.text == "ok";
  Event event = Event::OnMemory(wrote ? EventKind::kAtomicRmw : EventKind::kAtomicLoad, thread, bytes.addr, bytes.size,
                                wrote ? success : failure);
  pending_.push_back(Pending{event, offset, wrote ? success_offset : failure_offset});
}

void Reader::ReadCommit(Tid thread) {
  std::string_view part;  // 'r' or 'w', once one has come
  bool part_empty = false;
  while (!AtTail()) {
    Token token = cursor_.Peek();
    if (token.text == "r" || token.text == "w") {
      if (part_empty) break;
      part = cursor_.Next().text;
      part_empty = true;
      continue;
    }
    if (part.empty()) Fail(token.offset, "expected 'r' or 'w' before {}", Shown(token.text));
    Bytes bytes = ExpectBytes();
    EventKind kind = part == "r" ? EventKind::kTxRead : EventKind::kTxWrite;
    pending_.push_back(Pending{Event::OnMemory(kind, thread, bytes.addr, bytes.size), token.offset, token.offset});
    part_empty = false;
  }
  size_t offset = cursor_.Peek().offset;
  if (part_empty) Fail(offset, "expected memory after '{}'", part);
  pending_.push_back(Pending{Event::OnThread(EventKind::kTxCommit, thread), offset, offset});
}

void Reader::ReadAlloc(Tid thread) {
  Token token = Expect("a block's name");
  auto emit = [&](Addr addr, uint64_t size) {
    Event event = Event::OnMemory(EventKind::kAlloc, thread, addr, size);
    pending_.push_back(Pending{event, token.offset, token.offset});
  };
  if (token.text.starts_with("0x")) {
    Bytes bytes = TextNames::ParseRawBytes(token);
    names_.TakePlace(bytes);
    return emit(bytes.addr, bytes.size);
  }
  if (!IsName(token.text)) Fail(token.offset, "expected a block's name, not {}", Shown(token.text));
  uint64_t size = ExpectNumber("a size", 1, TraceChecker::kMaxRange);
  Symbol* symbol = names_.Find(token.text);
  if (symbol != nullptr && symbol->meaning != Symbol::Meaning::kBlock)
    TextNames::WrongMeaning(token, *symbol, "allocated");
  if (symbol != nullptr && checker_.AllocatedBy(symbol->addr) == symbol->allocated_event) {
    Fail(token.offset, "block {} is allocated already", Shown(token.text));
  }
  Symbol block{.meaning = Symbol::Meaning::kBlock, .size = size, .reserved = size};
  if (cursor_.Peek().text == "at") {
    cursor_.Next();
    block.addr = ReadPlace(size);
  } else if (symbol != nullptr && size <= symbol->reserved) {
    block.addr = symbol->addr;
    block.reserved = symbol->reserved;
  } else {
    block.addr = names_.FreshPlace(token, size, AddressPlan::kUsualAlign);
  }
  block.allocated_event = trace_.events.size();
  if (symbol != nullptr) {
    block.line = symbol->line;
    *symbol = block;
  } else {
    names_.Declare(token, block);
  }
  names_.AddRange(token.text, block.addr, size);
  emit(block.addr, size);
}

void Reader::ReadFree(Tid thread) {
  Token token = Expect("a block's name");
  Bytes bytes{};
  if (token.text.starts_with("0x")) {
    bytes = TextNames::ParseRawBytes(token);
  } else {
    if (!IsName(token.text)) Fail(token.offset, "expected a block's name, not {}", Shown(token.text));
    Symbol* symbol = names_.Find(token.text);
    if (symbol == nullptr) Fail(token.offset, "block {} has not been allocated", Shown(token.text));
    if (symbol->meaning != Symbol::Meaning::kBlock) TextNames::WrongMeaning(token, *symbol, "freed");
    if (symbol->freed_line != 0) {
      Fail(token.offset, "block {} has been freed already, on line {}", Shown(token.text), symbol->freed_line);
    }
    symbol->freed_line = source_.number();
    bytes = Bytes{symbol->addr, symbol->size};
  }
  Event event = Event::OnMemory(EventKind::kFree, thread, bytes.addr, bytes.size);
  pending_.push_back(Pending{event, token.offset, token.offset});
}

// The part of a line that every event has: position and expectations. Then the events are complete.
void Reader::Finish(const Token& thread, const Token& verb) {
  PositionId position{};
  if (cursor_.Peek().text.starts_with('@')) {
    SourcePosition source = ParsePosition(cursor_.Next());
    position = positions_.Intern(source.file, source.line, source.column, trace_);
  } else {
    position = positions_.Intern(trace_.name, source_.number(), 0, trace_);
  }
  if (pending_.size() > limits_.max_events - trace_.events.size()) {
    Fail(thread.offset, "the trace has more than {} events", limits_.max_events);
  }
  size_t first_expectation = trace_.expectations.size();
  ReadExpectations();
  ExpectEnd();
  for (Pending& pending : pending_) {
    pending.event.position = position;
    if (auto problem = checker_.Check(pending.event)) {
      switch (problem->operand) {
        case TraceChecker::Operand::kThread:
          throw LineError{thread.offset, problem->message};
        case TraceChecker::Operand::kVerb:
          throw LineError{verb.offset, problem->message};
        case TraceChecker::Operand::kObject:
        case TraceChecker::Operand::kMemory:
          throw LineError{pending.object_offset, problem->message};
        case TraceChecker::Operand::kOrder:
          throw LineError{pending.order_offset, problem->message};
      }
    }
    trace_.events.push_back(pending.event);
    trace_.lines.push_back(source_.number());
  }
  for (size_t i = first_expectation; i < trace_.expectations.size(); ++i) {
    trace_.expectations[i].event = trace_.events.size() - 1;
  }
}

void Reader::ReadExpectations() {
  std::vector<std::string> named;  // the detectors that this line speaks of; empty: all of them
  for (size_t count = 0; cursor_.Peek().text.starts_with('!'); ++count) {
    size_t offset = cursor_.Peek().offset;
    if (count == kMaxExpectations) Fail(offset, "an event has at most {} expectations", kMaxExpectations);
    Expectation expectation;
    expectation.line = source_.number();
    cursor_.SkipInRest(ParseExpectation(cursor_.Rest(), offset, expectation));
    if (named.size() + expectation.detectors.size() > kMaxExpectationNames) {
      Fail(offset, "an event names at most {} detectors in its expectations", kMaxExpectationNames);
    }
    std::vector<std::string> detectors = expectation.detectors;
    if (detectors.empty()) detectors.emplace_back();
    for (std::string& detector : detectors) {
      if (std::find(named.begin(), named.end(), detector) != named.end()) {
        Fail(offset, "this line already says what is expected of {}",
             detector.empty() ? "every detector" : Shown(detector));
      }
      named.push_back(std::move(detector));
    }
    trace_.expectations.push_back(std::move(expectation));
  }
}

// Tokens.

bool Reader::AtTail() const {
  std::string_view next = cursor_.Peek().text;
  return next.empty() || next.starts_with('@') || next.starts_with('!');
}

Token Reader::Expect(std::string_view what) {
  if (AtTail()) Fail(cursor_.Peek().offset, "expected {}", what);
  return cursor_.Next();
}

Token Reader::ExpectName(std::string_view what) {
  Token token = Expect(what);
  if (token.text.size() > kMaxNameLength) {
    Fail(token.offset, "the name has more than {} bytes", kMaxNameLength);
  }
  if (!IsName(token.text)) Fail(token.offset, "expected {}, not {}", what, Shown(token.text));
  return token;
}

uint64_t Reader::ExpectNumber(std::string_view what, uint64_t least, uint64_t most) {
  Token token = Expect(what);
  std::optional<uint64_t> number = ParseNumber(token.text);
  if (!number || *number < least || *number > most) {
    Fail(token.offset, "expected {} from {} to {}, not {}", what, least, most, Shown(token.text));
  }
  return *number;
}

MemoryOrder Reader::ExpectOrder(size_t& offset) {
  Token token = Expect("a memory order");
  offset = token.offset;
  std::optional<MemoryOrder> order = FindOrder(token.text);
  if (!order) Fail(offset, "unknown memory order {}{}", Shown(token.text), Suggestion(token.text, OrderWords()));
  return *order;
}

void Reader::ExpectEnd() {
  Token token = cursor_.Next();
  if (!token.text.empty()) Fail(token.offset, "expected the end of the line, not {}", Shown(token.text));
}

// Names.

Tid Reader::AddThread(const Token& token) {
  if (IsDeclaration(token.text)) {
    Fail(token.offset, "'{}' begins a declaration and cannot name a thread", token.text);
  }
  return Tid{thread_ids_.Intern(token.text, trace_.threads)};
}

Tid Reader::FindThread(const Token& token, bool acts) {
  if (std::optional<uint32_t> id = thread_ids_.Find(token.text)) return Tid{*id};
  if (acts && trace_.threads.empty()) {
    Tid thread = AddThread(token);
    trace_.initial_threads.push_back(thread);
    checker_.AddInitialThread(thread);
    return thread;
  }
  Fail(token.offset, "thread {} does not exist: it is neither initial nor forked", Shown(token.text));
}

Reader::Bytes Reader::ExpectBytes() {
  return names_.ParseBytes(Expect("memory: NAME, NAME+OFFSET:SIZE or 0xADDRESS:SIZE"));
}

Addr Reader::ReadPlace(uint64_t size) {
  return names_.ParsePlace(Expect("an address or the name of a variable"), size);
}

}  // namespace

TraceResult ReadTextTrace(std::istream& in, std::string_view name, const Limits& limits) {
  return Reader(in, name, limits).Run();
}

TraceResult ReadTextTraceFromString(std::string_view text, std::string_view name, const Limits& limits) {
  std::istringstream in{std::string(text)};
  return ReadTextTrace(in, name, limits);
}

}  // namespace redflag
