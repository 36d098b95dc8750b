#include "trace/text_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "trace/checker.h"
#include "trace/text_expectation.h"
#include "trace/text_lexer.h"
#include "trace/text_verbs.h"

namespace redflag {
namespace {

constexpr size_t kThreadsPerLine = 16;
// A transaction that would make a longer line is written as one line for each access.
constexpr size_t kMaxCommitLength = 1000;

bool IsFootprint(const Event& event) { return event.kind == EventKind::kTxRead || event.kind == EventKind::kTxWrite; }

// Spells ids: by their own names as far as those are good and no other id has them, by number otherwise.
class Namer {
 public:
  explicit Namer(std::string_view prefix) : prefix_(prefix) {}

  // A name that no id may have.
  void Forbid(std::string_view name) { used_.emplace(name); }
  // A name that only an id which wants it gets.
  void Reserve(std::string_view name) { reserved_.emplace(name); }

  const std::string& NameOf(uint32_t id, std::string_view wanted) {
    auto [found, is_new] = names_.try_emplace(id);
    if (!is_new) return found->second;
    std::string name(wanted);
    if (!IsName(name) || used_.contains(name)) {
      name = fmt::format("{}{}", prefix_, id);
      while (used_.contains(name) || reserved_.contains(name)) name += '_';
    }
    used_.insert(name);
    return found->second = std::move(name);
  }

 private:
  std::string prefix_;
  std::set<std::string, std::less<>> used_;
  std::set<std::string, std::less<>> reserved_;
  std::map<uint32_t, std::string> names_;
};

// Which range of the trace names an address, the newest first.
class AddressNames {
 public:
  void Assign(uint64_t begin, uint64_t end, size_t range) {
    Split(begin);
    Split(end);
    segments_.erase(segments_.lower_bound(begin), segments_.lower_bound(end));
    segments_.emplace(begin, Segment{end, range});
  }

  std::optional<size_t> Find(uint64_t addr) const {
    auto next = segments_.upper_bound(addr);
    if (next == segments_.begin() || std::prev(next)->second.end <= addr) return std::nullopt;
    return std::prev(next)->second.range;
  }

 private:
  struct Segment {
    uint64_t end;
    size_t range;
  };

  void Split(uint64_t at) {
    auto next = segments_.lower_bound(at);
    if (next == segments_.begin() || std::prev(next)->second.end <= at) return;
    Segment& lower = std::prev(next)->second;
    segments_.emplace(at, lower);
    lower.end = at;
  }

  std::map<uint64_t, Segment> segments_;  // by begin; disjoint
};

class Writer {
 public:
  Writer(const Trace& trace, std::ostream& out);

  void Run();

 private:
  enum class RangeUse : uint8_t { kNone, kVariable, kBlock };

  void PlanRanges();
  void WriteThreads();
  void WriteRanges(uint64_t event);
  void WriteObject(const Event& event);
  size_t WriteTransaction(uint64_t first);
  void WriteEvent(uint64_t index);
  void EndLine(std::string line, uint64_t event);

  std::string Operands(const Verb& verb, uint64_t index);
  std::string Allocation(uint64_t index);
  std::string Release(const Event& event);
  std::string Bytes(const Event& event, bool in_commit);

  const std::string& ThreadName(Tid thread);
  const std::string& SyncName(const Event& event);
  SyncKind KindOf(const Event& event) const;
  bool IsBlock(const NamedRange& range) const;
  // Whether the name of this range stands for this range now.
  bool IsCurrent(size_t range) const;
  void MakeCurrent(size_t range);

  const Trace& trace_;
  std::ostream& out_;
  Namer threads_{"T"};
  Namer syncs_{"sync"};
  std::vector<RangeUse> uses_;                  // of each range
  std::map<std::string_view, size_t> current_;  // name -> the range it stands for
  std::map<Addr, size_t> live_blocks_;          // those that have a name -> range
  AddressNames addresses_;
  size_t next_range_ = 0;
  std::vector<const Expectation*> expectations_;  // in the order of writing
  size_t next_expectation_ = 0;
  std::set<SyncId> declared_objects_;
  uint64_t no_commit_before_ = 0;  // no transaction that begins before this event fits on a line
};

Writer::Writer(const Trace& trace, std::ostream& out) : trace_(trace), out_(out) {
  for (std::string_view declaration : DeclarationWords()) threads_.Forbid(declaration);
  for (const std::string& name : trace.threads) threads_.Reserve(name);
  for (const NamedSync& sync : trace.syncs) syncs_.Reserve(sync.name);
  PlanRanges();
  for (const Expectation& expectation : trace.expectations) expectations_.push_back(&expectation);
  // The reason of a miss takes the rest of the line.
  auto key = [](const Expectation* expectation) {
    return std::tuple(expectation->event, expectation->verdict == Expectation::Verdict::kMiss, expectation);
  };
  std::ranges::sort(expectations_, {}, key);
}

// Which ranges get a declaration, and which are named by their alloc: the last one that fits it, as the
// reader makes them.
void Writer::PlanRanges() {
  uses_.assign(trace_.ranges.size(), RangeUse::kNone);
  std::map<std::string_view, RangeUse> names;
  uint64_t named_alloc = UINT64_MAX;
  std::vector<bool> is_block(trace_.ranges.size());
  for (size_t i = trace_.ranges.size(); i-- > 0;) {
    const NamedRange& range = trace_.ranges[i];
    is_block[i] = IsBlock(range) && range.first_event != named_alloc;
    if (is_block[i]) named_alloc = range.first_event;
  }
  for (size_t i = 0; i < trace_.ranges.size(); ++i) {
    const NamedRange& range = trace_.ranges[i];
    RangeUse use = is_block[i] ? RangeUse::kBlock : RangeUse::kVariable;
    bool sound = range.size > 0 && range.size <= TraceChecker::kMaxRange && range.size <= UINT64_MAX - Raw(range.addr);
    if (!IsName(range.name) || !sound) continue;
    auto [known, is_new] = names.emplace(range.name, use);
    if (!is_new && (use == RangeUse::kVariable || known->second == RangeUse::kVariable)) continue;
    uses_[i] = use;
    syncs_.Forbid(range.name);
  }
}

bool Writer::IsBlock(const NamedRange& range) const {
  if (range.first_event >= trace_.events.size()) return false;
  const Event& event = trace_.events[range.first_event];
  return event.kind == EventKind::kAlloc && event.addr == range.addr && event.size == range.size;
}

void Writer::Run() {
  WriteThreads();
  for (uint64_t i = 0; i < trace_.events.size();) {
    WriteRanges(i);
    if (size_t length = WriteTransaction(i)) {
      i += length;
      continue;
    }
    WriteEvent(i);
    ++i;
  }
  WriteRanges(trace_.events.size());
}

void Writer::WriteThreads() {
  for (size_t i = 0; i < trace_.initial_threads.size(); ++i) {
    if (i % kThreadsPerLine == 0) out_ << (i == 0 ? "threads" : "\nthreads");
    out_ << ' ' << ThreadName(trace_.initial_threads[i]);
  }
  if (!trace_.initial_threads.empty()) out_ << '\n';
}

void Writer::WriteRanges(uint64_t event) {
  for (; next_range_ < trace_.ranges.size() && trace_.ranges[next_range_].first_event <= event; ++next_range_) {
    if (uses_[next_range_] != RangeUse::kVariable) continue;
    const NamedRange& range = trace_.ranges[next_range_];
    out_ << fmt::format("var {} {} at {:#x}\n", range.name, range.size, Raw(range.addr));
    MakeCurrent(next_range_);
  }
}

void Writer::MakeCurrent(size_t range) {
  const NamedRange& named = trace_.ranges[range];
  current_[named.name] = range;
  addresses_.Assign(Raw(named.addr), Raw(named.addr) + named.size, range);
}

bool Writer::IsCurrent(size_t range) const {
  auto found = current_.find(trace_.ranges[range].name);
  return found != current_.end() && found->second == range;
}

// Writes the transaction that begins with this event as one `commit` line, if it stands in one piece; returns
// how many events that were.
size_t Writer::WriteTransaction(uint64_t first) {
  if (first < no_commit_before_ || !IsFootprint(trace_.events[first])) return 0;
  const Event& begin = trace_.events[first];
  std::string line = ThreadName(begin.thread) + " commit";
  std::optional<EventKind> part;
  for (uint64_t i = first; i < trace_.events.size(); ++i) {
    const Event& event = trace_.events[i];
    no_commit_before_ = i;
    if (event.thread != begin.thread || event.position != begin.position) return 0;
    // What is introduced or expected in the middle needs a line of its own.
    bool introduces = next_range_ < trace_.ranges.size() && trace_.ranges[next_range_].first_event <= i;
    if (introduces) return 0;
    if (event.kind == EventKind::kTxCommit) {
      EndLine(std::move(line), i);
      return i + 1 - first;
    }
    bool expects = next_expectation_ < expectations_.size() && expectations_[next_expectation_]->event == i;
    if (!IsFootprint(event) || expects || line.size() > kMaxCommitLength) return 0;
    if (event.kind != part) line += event.kind == EventKind::kTxRead ? " r" : " w";
    part = event.kind;
    line += ' ' + Bytes(event, true);
  }
  return 0;
}

void Writer::WriteEvent(uint64_t index) {
  const Event& event = trace_.events[index];
  const Verb& verb = VerbFor(event, KindOf(event));
  if (verb.shape == Shape::kBarrier || (verb.shape == Shape::kSync && event.addr != Addr{})) WriteObject(event);
  std::string line = fmt::format("{} {}", ThreadName(event.thread), verb.word);
  EndLine(line + Operands(verb, index), index);
}

// Declares it, if it needs that and was not yet.
void Writer::WriteObject(const Event& event) {
  if (!declared_objects_.insert(event.sync()).second) return;
  if (event.addr == Addr{}) {
    out_ << fmt::format("barrier {} {}\n", SyncName(event), event.size);
  } else {
    out_ << fmt::format("object {} at {:#x}\n", SyncName(event), Raw(event.addr));
  }
}

void Writer::EndLine(std::string line, uint64_t event) {
  PositionId position = trace_.events[event].position;
  if (Raw(position) < trace_.positions.size()) {
    SourcePosition source = trace_.positions[Raw(position)];
    if (source.file.size() > kMaxTextLength) source.file.resize(kMaxTextLength);
    line += ' ' + SpellPosition(source);
  }
  while (next_expectation_ < expectations_.size() && expectations_[next_expectation_]->event <= event) {
    line += ' ' + SpellExpectation(*expectations_[next_expectation_++]);
  }
  out_ << line << '\n';
}

// With a blank before each.
std::string Writer::Operands(const Verb& verb, uint64_t index) {
  const Event& event = trace_.events[index];
  auto text = [](const std::vector<std::string>& table, uint32_t id) {
    return id < table.size() ? std::string_view(table[id]).substr(0, kMaxTextLength) : std::string_view();
  };
  switch (verb.shape) {
    case Shape::kBare:
    case Shape::kCommit:
      return {};
    case Shape::kMemory:
      return ' ' + Bytes(event, false);
    case Shape::kAtomic:
    case Shape::kCas:
      return fmt::format(" {} {}", Bytes(event, false), WordFor(event.order));
    case Shape::kFence:
      return fmt::format(" {}", WordFor(event.order));
    case Shape::kSync:
    case Shape::kBarrier:
    case Shape::kCondvarWait:
      return ' ' + SyncName(event);
    case Shape::kTold:
      return fmt::format(" {:#x} {:#x}", Raw(event.addr), event.size);
    case Shape::kFork:
    case Shape::kJoin:
      return ' ' + ThreadName(event.child());
    case Shape::kText:
      return ' ' + Quote(text(trace_.texts, event.object));
    case Shape::kAlloc:
      return Allocation(index);
    case Shape::kFree:
      return Release(event);
    case Shape::kFunction: {
      std::string_view name = text(trace_.functions, event.object);
      return ' ' + (IsName(name) ? std::string(name) : Quote(name));
    }
    case Shape::kRegion:
      return event.kind == verb.kind ? " begin" : " end";
  }
  __builtin_unreachable();
}

std::string Writer::Allocation(uint64_t index) {
  const Event& event = trace_.events[index];
  for (size_t behind = next_range_; behind > 0; --behind) {
    size_t i = behind - 1;
    if (trace_.ranges[i].first_event != index) break;
    if (uses_[i] != RangeUse::kBlock) continue;
    const std::string& name = trace_.ranges[i].name;
    auto known = current_.find(name);
    if (known != current_.end()) {
      // One name stands for one block; a second one that lives at the same time goes without.
      auto block = live_blocks_.find(trace_.ranges[known->second].addr);
      if (block != live_blocks_.end() && block->second == known->second) break;
    }
    MakeCurrent(i);
    live_blocks_[event.addr] = i;
    return fmt::format(" {} {} at {:#x}", name, event.size, Raw(event.addr));
  }
  return fmt::format(" {:#x}:{}", Raw(event.addr), event.size);
}

std::string Writer::Release(const Event& event) {
  auto block = live_blocks_.find(event.addr);
  if (block == live_blocks_.end()) return fmt::format(" {:#x}:{}", Raw(event.addr), event.size);
  std::string name = ' ' + trace_.ranges[block->second].name;
  live_blocks_.erase(block);
  return name;
}

std::string Writer::Bytes(const Event& event, bool in_commit) {
  std::optional<size_t> found = addresses_.Find(Raw(event.addr));
  if (found && IsCurrent(*found)) {
    const NamedRange& range = trace_.ranges[*found];
    uint64_t offset = event.addr - range.addr;
    if (event.size <= range.size - offset) {
      bool to_end = event.size == range.size - offset;
      // Alone, these two would begin a part of the commit.
      bool keyword = in_commit && (range.name == "r" || range.name == "w");
      std::string spelled = range.name;
      if (offset > 0) spelled += fmt::format("+{}", offset);
      if (!to_end || (keyword && offset == 0)) spelled += fmt::format(":{}", event.size);
      return spelled;
    }
  }
  return fmt::format("{:#x}:{}", Raw(event.addr), event.size);
}

const std::string& Writer::ThreadName(Tid thread) {
  bool named = Raw(thread) < trace_.threads.size();
  return threads_.NameOf(Raw(thread), named ? trace_.threads[Raw(thread)] : "");
}

const std::string& Writer::SyncName(const Event& event) {
  bool named = event.object < trace_.syncs.size();
  return syncs_.NameOf(event.object, named ? trace_.syncs[event.object].name : "");
}

// For kSignal and kWait, where it decides the verb.
SyncKind Writer::KindOf(const Event& event) const {
  if (event.object >= trace_.syncs.size()) return SyncKind::kSignal;
  SyncKind kind = trace_.syncs[event.object].kind;
  bool is_signal = kind == SyncKind::kCondition || kind == SyncKind::kSemaphore;
  return is_signal ? kind : SyncKind::kSignal;
}

}  // namespace

void WriteTextTrace(const Trace& trace, std::ostream& out) { Writer(trace, out).Run(); }

std::string TextOf(const Trace& trace) {
  std::ostringstream out;
  WriteTextTrace(trace, out);
  return std::move(out).str();
}

}  // namespace redflag
