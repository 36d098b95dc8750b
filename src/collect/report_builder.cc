#include "collect/report_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "report/fingerprint.h"
#include "report/frames.h"
#include "report/judgement.h"
#include "report/own_code.h"

namespace redflag {
namespace {

// Files are smaller than that: data that is farther from where a module begins is not its own.
constexpr uint64_t kMaxModule = uint64_t{1} << 32;

constexpr uint32_t kFirstThread = 0;

std::optional<RacyBlock::Place> PlaceOf(wire::Place place) {
  switch (place) {
    case wire::Place::kHeap:
      return RacyBlock::Place::kHeap;
    case wire::Place::kStack:
      return RacyBlock::Place::kStack;
    case wire::Place::kTls:
      return RacyBlock::Place::kThreadLocal;
    case wire::Place::kGlobal:
      return RacyBlock::Place::kGlobal;
    case wire::Place::kMapped:
      return RacyBlock::Place::kMapped;
    case wire::Place::kDescriptor:
      return RacyBlock::Place::kDescriptor;
    case wire::Place::kUnknown:
      break;
  }
  return std::nullopt;
}

// With the field, if that is known.
void NameVariable(const SymbolFile::Variable& variable, RaceReport& report) {
  report.variable = variable.field ? variable.name + variable.field->path : variable.name;
  report.offset = variable.field ? variable.field->offset : variable.offset;
}

// Those that both sides can have to do with.
void KeepCommon(std::vector<SymbolFile::Object>& objects, const std::vector<SymbolFile::Object>& others) {
  std::erase_if(objects, [&](SymbolFile::Object& object) {
    return std::none_of(others.begin(), others.end(), [&](const SymbolFile::Object& other) {
      return other.type == object.type && other.is_own == object.is_own;
    });
  });
}

// The class that all sides are member functions of or else, if no other comes into question, one that all have pointers to.
const SymbolFile::Object* OnlyOne(const std::vector<SymbolFile::Object>& objects) {
  const SymbolFile::Object* only = nullptr;
  for (const bool is_own : {true, false}) {
    for (const SymbolFile::Object& object : objects) {
      if (object.is_own != is_own) continue;
      if (only != nullptr && only->type != object.type) return nullptr;
      only = &object;
    }
    if (only != nullptr) return only;
  }
  return nullptr;
}

// It has called what a thread starts with, in a frame that is gone: threads have no variables there that race.
bool IsRuntime(const std::string& path) { return path.find("/libredflag_rt") != std::string::npos; }

bool MayBeGlobal(const RaceMessage& race) {
  return !race.block || race.block->place == wire::Place::kUnknown || race.block->place == wire::Place::kGlobal;
}

constexpr const char* kTolerate = "tolerate";

// That one side is unknown is so by the nature of it, and both values tell that it happened.
void JudgeTolerated(RaceReport& report) {
  const bool is_conflict = IsWrite(report.access.kind);
  report.judgement = Judgement{.rank = is_conflict ? Judgement::Rank::kHigh : Judgement::Rank::kMedium,
                               .pattern = "",
                               .suggestion = "take the lock of the section wherever the variable is changed",
                               .reasons = {is_conflict ? "both changes were seen, and one of them may be lost"
                                                       : "the change was seen, and tolerated"}};
}

// Title, and category for suppressions; as ThreadSanitizer has them.
std::pair<const char*, const char*> WordsFor(wire::Flaw flaw) {
  switch (flaw) {
    case wire::Flaw::kUnlockNotHeld:
      return {"unlock of an unlocked mutex (or by a wrong thread)", "mutex"};
    case wire::Flaw::kDestroyHeld:
      return {"destroy of a locked mutex", "mutex"};
    case wire::Flaw::kDoubleLock:
      return {"double lock of a mutex", "mutex"};
    case wire::Flaw::kInvalidLock:
      return {"use of an invalid mutex (e.g. uninitialized or destroyed)", "mutex"};
    case wire::Flaw::kReadLockOfWritten:
      return {"read lock of a write locked mutex", "mutex"};
    case wire::Flaw::kReadUnlockOfWritten:
      return {"read unlock of a write locked mutex", "mutex"};
    case wire::Flaw::kHeldInWrongContext:
      return {"mutex held in the wrong context", "mutex"};
    case wire::Flaw::kThreadLeak:
      return {"thread leak", "thread"};
    case wire::Flaw::kSpoiltErrno:
      return {"signal handler spoils errno", "signal"};
    case wire::Flaw::kLockOrder:
      return {"lock-order-inversion (potential deadlock)", "deadlock"};
    case wire::Flaw::kUnsafeInHandler:
      return {"signal-unsafe call inside of a signal", "signal"};
    case wire::Flaw::kEndsIgnoring:
      return {"thread finished with ignores enabled", "thread"};
  }
  return {"misuse", "mutex"};
}

}  // namespace

std::string ThreadName(uint32_t thread) {
  if (thread == wire::kNoThread) return "?";
  return thread == 0 ? "main" : fmt::format("T{}", thread);
}

// The nearest module that begins before it comes first: the data of a file lies behind its beginning.
std::optional<ReportBuilder::Datum> ReportBuilder::FindDatum(uint64_t address) {
  std::vector<const LoadedModule*> candidates;
  for (const LoadedModule& module : modules_.all()) {
    if (!module.gone && address >= module.bias && address - module.bias < kMaxModule) candidates.push_back(&module);
  }
  std::sort(candidates.begin(), candidates.end(), [](const LoadedModule* a, const LoadedModule* b) {
    return a->bias != b->bias ? a->bias > b->bias : a < b;  // they are in one vector
  });
  for (const LoadedModule* module : candidates) {
    const uint64_t offset = address - module->bias;
    if (!symbolizer_.Covers(module->path, module->identity, offset)) continue;
    return Datum{.module = module->path,
                 .offset = offset,
                 .variable = symbolizer_.Variable(module->path, module->identity, offset)};
  }
  return std::nullopt;
}

std::vector<Frame> ReportBuilder::StackOf(const RawStack& stack) {
  std::vector<Frame> frames;
  for (const uint64_t address : stack.frames) {
    if (const LoadedModule* module = modules_.FindCode(address - 1)) {
      const auto& found = symbolizer_.Frames(module->path, module->identity, address - module->bias);
      frames.insert(frames.end(), found.begin(), found.end());
    } else {
      frames.emplace_back().offset = address;
    }
  }
  return frames;
}

// The innermost return address in own code, or if there is none the innermost, and what is inlined there. No more is looked up.
std::vector<Frame> ReportBuilder::OwnFrameOf(const RawStack& stack) {
  for (const uint64_t place : stack.frames) {
    std::vector<Frame> frames = FrameOf(place);
    if (std::any_of(frames.begin(), frames.end(), IsOwnCode)) return frames;
  }
  return stack.frames.empty() ? std::vector<Frame>() : FrameOf(stack.frames.front());
}

// One return address, and what is inlined there.
std::vector<Frame> ReportBuilder::FrameOf(uint64_t place) {
  return place == 0 ? std::vector<Frame>() : StackOf({.frames = {place}, .truncated = false});
}

std::string ReportBuilder::LockName(uint64_t address) {
  const std::optional<Datum> datum = FindDatum(address);
  if (!datum || !datum->variable) return fmt::format("{:#x}", address);
  RaceReport named;
  NameVariable(*datum->variable, named);
  return named.offset == 0 ? named.variable : fmt::format("{}+{}", named.variable, named.offset);
}

AccessSite ReportBuilder::SiteOf(const RawAccess& access) {
  AccessSite site;
  site.thread = ThreadName(access.thread);
  site.kind = access.kind;
  site.origin = access.origin;
  site.addr = Addr{access.address};
  site.size = access.size;
  site.stack = StackOf(access.stack);
  site.stack_truncated = access.stack.truncated;
  site.locks_known = !access.locks_unknown;
  site.vptr = access.vptr;
  site.ordered = access.ordered;
  site.bit_field = access.bit_field;
  site.value = access.value;
  for (const RawLock& lock : access.locks) {
    site.locks.push_back({.name = LockName(lock.address),
                          .mode = lock.shared ? LockMode::kShared : LockMode::kExclusive,
                          .taken_at = lock.taken_at ? StackOf(*lock.taken_at) : std::vector<Frame>(),
                          .addr = Addr{lock.address},
                          .made_at = lock.made_at ? StackOf(*lock.made_at) : std::vector<Frame>()});
  }
  return site;
}

void ReportBuilder::FillPlace(const RaceMessage& race, RaceReport& report) {
  if (race.block) {
    if (const auto place = PlaceOf(race.block->place)) {
      RacyBlock& block = report.block.emplace();
      block.place = *place;
      block.begin = Addr{race.block->begin};
      block.size = race.block->bytes;
      if (race.block->thread != wire::kNoThread) block.thread = ThreadName(race.block->thread);
      block.freed = race.block->freed;
      if (race.block->allocated_at) block.allocated_at = StackOf(*race.block->allocated_at);
    }
  }
  if (race.block && race.block->place == wire::Place::kTls) NameThreadLocal(race, report);
  if (race.block && race.block->place == wire::Place::kStack && race.block->calls) NameLocal(race, report);
  if (race.block && race.block->place == wire::Place::kHeap) NameMember(race, report);
  if (race.block && race.block->place == wire::Place::kDescriptor) NameDescriptor(race, report);
  if (!MayBeGlobal(race)) return;
  const std::optional<Datum> datum = FindDatum(race.address);
  if (!datum) return;
  if (!report.block) report.block.emplace().place = RacyBlock::Place::kGlobal;
  report.block->module = datum->module;
  report.block->module_offset = datum->offset;
  if (!datum->variable) return;
  NameVariable(*datum->variable, report);
  report.block->begin = Addr{race.address - datum->variable->offset};
  report.block->size = datum->variable->size;
}

// Of the program itself, whose variables have a known place; of libraries there is no telling.
void ReportBuilder::NameThreadLocal(const RaceMessage& race, RaceReport& report) {
  report.block->begin = Addr{};
  for (const LoadedModule& module : modules_.all()) {
    if (module.path != process_.command || module.gone) continue;
    const auto variable =
        symbolizer_.ThreadLocal(module.path, module.identity, static_cast<int64_t>(race.address - race.block->begin));
    if (!variable) return;
    NameVariable(*variable, report);
    report.block->begin = Addr{race.address - variable->offset};
    report.block->size = variable->size;
    return;
  }
}

// Where the frame of the function ends that was called, if it has called another. On arm64, that one has stored where the frame pointer was.
std::optional<uint64_t> ReportBuilder::FrameBelow(const RawCalls& calls, const RawCalls::Return& call) {
  std::optional<uint64_t> end;
  for (const RawCalls::Return& inner : calls.returns) {
    const LoadedModule* module = modules_.FindCode(inner.value - 1);
    if (inner.below + sizeof(uint64_t) != call.address || module == nullptr) continue;
    const std::optional<uint64_t> found =
        symbolizer_.FrameEnd(module->path, module->identity, inner.value - module->bias, call.address);
    if (end && found && *end != *found) return std::nullopt;
    if (found) end = found;
  }
  return end;
}

// Old words on the stack may look like calls: what is found of two of them has to be the same. If only the function is, no more is said.
void ReportBuilder::NameLocal(const RaceMessage& race, RaceReport& report) {
  std::optional<SymbolFile::Local> local;
  for (const RawCalls::Return& each : race.block->calls->returns) {
    const LoadedModule* module = modules_.FindCode(each.value - 1);
    if (module == nullptr || IsRuntime(module->path)) continue;
    for (const uint64_t slot : race.block->calls->slots) {
      const DwarfFrames::Call call{
          .address = each.address, .below = each.below, .slot = slot, .inner = FrameBelow(*race.block->calls, each)};
      std::optional<SymbolFile::Local> found =
          symbolizer_.Local(module->path, module->identity, each.value - module->bias, call, race.address);
      if (!found) continue;
      if (local && local->function != found->function) return;
      if (local && *local != *found) found->variable.reset();
      local = std::move(found);
    }
  }
  if (!local) return;
  report.block->function = local->function;
  if (!local->variable) return;
  NameVariable(*local->variable, report);
  report.block->begin = Addr{local->begin};
  report.block->size = local->variable->size;
  report.block->parameter = local->is_parameter;
  if (local->file.empty()) return;
  Frame& declared_at = report.block->declared_at.emplace_back();
  declared_at.file = local->file;
  declared_at.line = local->line;
}

// What is accessed stands for it.
void ReportBuilder::NameDescriptor(const RaceMessage& race, RaceReport& report) {
  report.variable = fmt::format("file descriptor {}", race.block->begin);
  report.block->begin = Addr{};
  report.access.descriptor = true;
  for (AccessSite& site : report.earlier) site.descriptor = true;
}

// The heap does not say what is in a block. If the code on all sides has to do with one class that an object as large as the block can be of,
// it is taken for one. Locks in it are named too.
void ReportBuilder::NameMember(const RaceMessage& race, RaceReport& report) {
  const RawBlock& block = *race.block;
  const auto is_inside = [&](uint64_t address) {
    return address >= block.begin && address - block.begin < block.bytes;
  };
  std::vector<uint64_t> offsets = {race.address - block.begin};
  for (const RawAccess& access : race.accesses) {
    for (const RawLock& lock : access.locks) {
      if (is_inside(lock.address)) offsets.push_back(lock.address - block.begin);
    }
  }
  std::vector<SymbolFile::Object> objects;
  for (const RawAccess& access : race.accesses) {
    if (access.origin != AccessOrigin::kProgram || access.stack.frames.empty()) return;
    const uint64_t address = access.stack.frames.front();
    const LoadedModule* module = modules_.FindCode(address - 1);
    if (module == nullptr) return;
    const uint64_t bytes = access.address == race.address ? access.size : 0;
    std::vector<SymbolFile::Object> found =
        symbolizer_.Objects(module->path, module->identity, address - module->bias, block.bytes, bytes, offsets);
    if (&access == &race.accesses.front()) {
      objects = std::move(found);
    } else {
      KeepCommon(objects, found);
    }
  }
  const SymbolFile::Object* object = OnlyOne(objects);
  if (object == nullptr) return;
  const auto name_of = [&](const DwarfVariables::Field& field) {
    return field.path.starts_with(".") ? object->type + "::" + field.path.substr(1) : object->type + field.path;
  };
  report.variable = name_of(object->fields[0]);
  report.offset = object->fields[0].offset;
  size_t next = 1;
  const auto name_locks = [&](const RawAccess& access, AccessSite& site) {
    for (size_t i = 0; i < access.locks.size(); ++i) {
      if (!is_inside(access.locks[i].address)) continue;
      const DwarfVariables::Field& field = object->fields[next++];
      site.locks[i].name = field.offset == 0 ? name_of(field) : fmt::format("{}+{}", name_of(field), field.offset);
    }
  };
  name_locks(race.accesses[0], report.access);
  for (size_t i = 1; i < race.accesses.size(); ++i) name_locks(race.accesses[i], report.earlier[i - 1]);
}

ThreadInfo ReportBuilder::InfoOf(uint32_t thread) {
  ThreadInfo info;
  info.name = ThreadName(thread);
  const auto found = threads_.find(thread);
  if (thread != 0) info.creator = "a thread that is not known";
  if (found == threads_.end()) return info;
  const ThreadMessage& message = found->second;
  info.title = message.name;
  info.os_id = message.os_id;
  info.finished = message.finished;
  if (message.creator != wire::kNoThread) info.creator = ThreadName(message.creator);
  info.created_at = StackOf(message.created_at);
  return info;
}

void ReportBuilder::AddAncestors(std::vector<uint32_t>& threads) const {
  for (size_t i = 0; i < threads.size(); ++i) {
    const auto found = threads_.find(threads[i]);
    if (found == threads_.end()) continue;
    const uint32_t creator = found->second.creator;
    const bool is_new = std::find(threads.begin(), threads.end(), creator) == threads.end();
    if (creator != wire::kNoThread && creator != kFirstThread && is_new) threads.push_back(creator);
  }
}

// Found by a tolerant section where it ended: it knows both values, and of the other thread nothing else. How it got there from the program is of no
// interest.
void ReportBuilder::AddTolerated(const RaceMessage& race, RaceReport& report) const {
  if (!tolerated_ || tolerated_->sequence != race.sequence || report.earlier.empty()) return;
  report.detector = kTolerate;
  report.claim = Claim::kUnordered;
  report.why = tolerated_->words;
  report.access.value = tolerated_->local;
  report.earlier.front().value = tolerated_->global;
  std::vector<Frame>& stack = report.access.stack;
  const auto own = std::find_if(stack.begin(), stack.end(), IsOwnCode);
  if (own != stack.end()) stack.erase(stack.begin(), own);
}

// The values, of an access that is not larger than they can be shown.
void ReportBuilder::AddObserved(const RawObserved& observed, RaceReport& report) {
  const AccessSite& stopped = report.earlier.empty() ? report.access : report.earlier.front();
  const std::string how_long =
      fmt::format("{} was stopped for {:.1f} ms", stopped.thread, static_cast<double>(observed.paused_ns) / 1e6);
  if (observed.size > sizeof observed.before) {
    report.evidence.push_back(how_long);
  } else if (observed.before == observed.after) {
    report.evidence.push_back(fmt::format("{}; the value was {:#x} before and after", how_long, observed.before));
  } else {
    report.evidence.push_back(
        fmt::format("{}; the value was {:#x} before and {:#x} after", how_long, observed.before, observed.after));
  }
  if (observed.unwatched) {
    report.notes.push_back(
        "no data breakpoint was to be had: only changes of the value are seen, and not whose they are");
  }
}

void ReportBuilder::JudgeObserved(const RawObserved& observed, RaceReport& report) {
  switch (observed.looks) {
    case wire::Looks::kNothing:
      return;
    case wire::Looks::kStatistics:
      return JudgeByInstructions(report, "statistics counter",
                                 "both sides increment, and the value only grew each time it was seen");
    case wire::Looks::kSafeFlag:
      return JudgeByInstructions(report, "safe flag update",
                                 "the instructions read other bits than those that changed");
    case wire::Looks::kMixed:
      return JudgeByInstructions(report, "atomic and plain access", "one side is an atomic instruction");
  }
}

RaceReport ReportBuilder::Build(const RaceMessage& race) {
  RaceReport report;
  report.detector = detector_;
  report.claim = claim_;
  report.command = process_.command;
  report.pid = process_.pid;
  report.addr = Addr{race.address};
  report.size = race.bytes;
  std::vector<uint32_t> threads;
  const auto mention = [&](uint32_t thread) {
    const bool is_new = std::find(threads.begin(), threads.end(), thread) == threads.end();
    if (thread != wire::kNoThread && is_new) threads.push_back(thread);
  };
  for (size_t i = 0; i < race.accesses.size(); ++i) {
    AccessSite site = SiteOf(race.accesses[i]);
    mention(race.accesses[i].thread);
    if (i == 0) {
      report.access = std::move(site);
    } else {
      report.earlier.push_back(std::move(site));
    }
  }
  if (race.accesses_found > race.accesses.size()) report.earlier_omitted = race.accesses_found - race.accesses.size();
  FillPlace(race, report);
  if (race.block) mention(race.block->thread);
  if (names_ancestors_) AddAncestors(threads);
  for (const uint32_t thread : threads) report.threads.push_back(InfoOf(thread));
  if (race.observed && race.observed->unknown_writer) report.access.thread = kUnknownWriter;
  report.why = ExplainRace(report);
  AddEvidence(race, report);
  AddTolerated(race, report);
  report.notes = symbolizer_.TakeNotes();
  if (race.observed) AddObserved(*race.observed, report);
  for (const RawAccess& access : race.accesses) {
    const auto tag = tags_.find(access.tag);
    if (tag == tags_.end()) continue;
    report.notes.push_back(!tag->second.header.empty() ? tag->second.header
                                                       : fmt::format("race on {}", tag->second.object_type));
    break;
  }
  report.fingerprint = FingerprintOf(report);
  report.judgement = Judge(report, sources_);
  if (report.detector == kTolerate) JudgeTolerated(report);
  if (race.observed) JudgeObserved(*race.observed, report);
  return report;
}

std::string ReportBuilder::KeyOf(const RaceMessage& race) {
  std::vector<std::string> sites;
  for (const RawAccess& access : race.accesses) {
    std::string& site = sites.emplace_back(fmt::format("{} {} {}", Raw(access.kind), Raw(access.origin), access.size));
    for (const uint64_t address : access.stack.frames) {
      const LoadedModule* module = modules_.FindCode(address - 1);
      site += module == nullptr ? fmt::format(" {:x}", address)
                                : fmt::format(" {}+{:x}", module->path, address - module->bias);
    }
  }
  std::sort(sites.begin(), sites.end());
  std::string key;
  if (MayBeGlobal(race)) {
    if (const auto datum = FindDatum(race.address); datum && datum->variable) key = datum->variable->name;
  }
  for (const std::string& site : sites) key += "\n" + site;
  return key;
}

std::vector<std::vector<std::string>> ReportBuilder::ModulesOf(const RaceMessage& race) const {
  std::vector<std::vector<std::string>> modules;
  for (const RawAccess& access : race.accesses) {
    std::vector<std::string>& stack = modules.emplace_back();
    for (const uint64_t address : access.stack.frames) {
      const LoadedModule* module = modules_.FindCode(address - 1);
      stack.push_back(module == nullptr ? "" : module->path);
    }
  }
  return modules;
}

MisuseReport ReportBuilder::Build(const MisuseMessage& misuse) {
  MisuseReport report;
  std::tie(report.title, report.category) = WordsFor(misuse.flaw);
  report.thread = ThreadName(misuse.thread);
  report.where = StackOf(misuse.where);
  if (misuse.object != 0) report.mutex = LockName(misuse.object);
  report.addr = Addr{misuse.object};
  report.taken_at = StackOf(misuse.taken_at);
  report.made_at = StackOf(misuse.made_at);
  if (misuse.place == wire::Place::kStack) report.on_stack_of = ThreadName(misuse.place_thread);
  report.number = misuse.number;
  std::set<uint32_t> named;
  const auto name = [&](uint32_t thread) {
    if (thread != 0 && named.insert(thread).second) report.threads.push_back(InfoOf(thread));
  };
  for (const RawWaiter& waiter : misuse.waiters) {
    const auto mode = [](bool is_shared) { return is_shared ? LockMode::kShared : LockMode::kExclusive; };
    report.cycle.push_back({.thread = ThreadName(waiter.thread),
                            .held = {.name = LockName(waiter.held),
                                     .mode = mode(waiter.held_shared),
                                     .taken_at = StackOf(waiter.held_at),
                                     .addr = Addr{waiter.held},
                                     .made_at = StackOf(waiter.made_at)},
                            .wanted = {.name = LockName(waiter.wanted),
                                       .mode = mode(waiter.wanted_shared),
                                       .taken_at = StackOf(waiter.wanted_at),
                                       .addr = Addr{waiter.wanted}}});
    name(waiter.thread);
  }
  name(misuse.thread);
  if (names_ancestors_) {
    std::vector<uint32_t> threads(named.begin(), named.end());
    AddAncestors(threads);
    for (const uint32_t thread : threads) name(thread);
  }
  report.command = process_.command;
  report.pid = process_.pid;
  return report;
}

}  // namespace redflag
