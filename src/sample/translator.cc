#include "sample/translator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

namespace redflag {
namespace {

// Operations of atomic variables are plain instructions on x86-64, as far as they are loads and stores. They are recognised by whose they are.
bool IsAtomicFunction(std::string_view name) {
  constexpr std::array<std::string_view, 4> kNames = {"std::atomic", "std::__atomic", "__gnu_cxx::__atomic",
                                                      "std::__1::atomic"};
  return std::any_of(kNames.begin(), kNames.end(), [&](std::string_view part) {
    const size_t at = name.find(part);
    return at == 0 || (at != std::string_view::npos && name.find('(') > at && name[at - 1] == ' ');
  });
}

AccessKind KindOf(const MemoryAccess& access, bool atomic) {
  if (access.writes()) return atomic ? AccessKind::kAtomicWrite : AccessKind::kWrite;
  return atomic ? AccessKind::kAtomicRead : AccessKind::kRead;
}

}  // namespace

void Translator::SetMaps(std::vector<MappedFile> maps) {
  maps_ = std::move(maps);
  unwinder_.Refresh();
}

Translator::Code Translator::CodeAt(uint64_t address) {
  for (const MappedFile& mapped : maps_) {
    if (address < mapped.code_begin || address >= mapped.code_end) continue;
    auto [file, is_new] = files_.try_emplace(mapped.path);
    if (is_new) {
      auto opened = CodeFile::Open(mapped.path);
      if (auto* code = std::get_if<CodeFile>(&opened)) file->second = std::make_unique<CodeFile>(std::move(*code));
    }
    return {.mapped = &mapped, .file = file->second.get()};
  }
  return {};
}

uint32_t Translator::NumberOf(uint32_t tid, Conflict& conflict) {
  if (tid == static_cast<uint32_t>(pid_)) threads_.try_emplace(tid, 0);
  const auto next = static_cast<uint32_t>(threads_.size() + (threads_.contains(static_cast<uint32_t>(pid_)) ? 0 : 1));
  const auto [known, is_new] = threads_.try_emplace(tid, next);
  if (is_new || known->second == 0) {
    ThreadMessage message{.id = known->second, .os_id = tid, .name = {}, .created_at = {}};
    std::ifstream name(fmt::format("/proc/{}/task/{}/comm", pid_, tid));
    std::getline(name, message.name);
    conflict.threads.push_back(std::move(message));
  }
  return known->second;
}

bool Translator::IsAtomicByName(uint64_t return_address) {
  const Code code = CodeAt(return_address - 1);
  if (code.mapped == nullptr) return false;
  const auto& frames =
      symbolizer_.Frames(code.mapped->path, IdentityOf(code.mapped->path), return_address - code.mapped->bias);
  for (const Frame& frame : frames) {
    if (IsAtomicFunction(frame.function)) return true;
    if (!frame.inlined) break;
  }
  return false;
}

Intent Translator::IntentAt(uint64_t address) {
  const Code code = CodeAt(address);
  return code.file == nullptr ? Intent() : IntentOf(*code.file, address - code.mapped->bias);
}

// What it looks like. A counter is one only after a while: that is for whoever sees more of them.
void Translator::Judge(const SampleSite& site, const Located& second, Conflict& conflict, AccessKind first_kind,
                       AccessKind second_kind) {
  RawObserved& observed = *conflict.race.observed;
  const bool both_write = IsWrite(first_kind) && IsWrite(second_kind);
  if (IsAtomic(first_kind) != IsAtomic(second_kind)) {
    if (!both_write) observed.looks = wire::Looks::kMixed;
    return;
  }
  const Intent mine = IntentAt(site.address);
  const Intent theirs = IntentAt(second.address);
  conflict.both_increment = mine.increments && theirs.increments;
  if (both_write || conflict.both_increment) return;
  const bool safe = IsWrite(first_kind) ? IsSafeFlagUpdate(theirs, mine, observed.before, observed.after)
                                        : IsSafeFlagUpdate(mine, theirs, observed.before, observed.after);
  if (safe) observed.looks = wire::Looks::kSafeFlag;
}

// On x86-64 the thread has gone past it, unless it repeats.
std::optional<Located> Translator::SecondAccess(const SampleStop& stop) {
  const Code code = CodeAt(stop.pc);
  if (code.file == nullptr) return std::nullopt;
  const uint64_t pc = stop.pc - code.mapped->bias;
  Located located;
  if (stop.is_before == 0 && FindInstructionBefore(*code.file, pc, located) && located.instruction.accesses_memory) {
    located.address += code.mapped->bias;
    return located;
  }
  if (FindInstructionAt(*code.file, pc, located) && located.instruction.accesses_memory &&
      (stop.is_before != 0 || (located.instruction.access.flags & MemoryAccess::kRepeated) != 0)) {
    located.address += code.mapped->bias;
    return located;
  }
  return std::nullopt;
}

RawAccess Translator::Access(const SampleRecord& record, const SampleStop& stop, const MemoryAccess& access,
                             uint64_t behind, Conflict& conflict) {
  RawAccess raw;
  raw.address = record.address;
  raw.size = access.size;
  raw.thread = NumberOf(stop.tid, conflict);
  raw.kind = KindOf(access, access.atomic() || IsAtomicByName(behind));
  raw.origin = AccessOrigin::kProgram;
  raw.locks_unknown = true;
  raw.stack = unwinder_.Unwind(stop, behind);
  return raw;
}

Translator::Conflict Translator::Translate(const SampleRecord& record, const SampleSite& site, bool has_watches) {
  Conflict conflict;
  RaceMessage& race = conflict.race;
  race.sequence = ++sequence_;
  race.address = record.address;
  race.bytes = record.size;
  race.accesses_found = 2;
  RawObserved& observed = race.observed.emplace();
  observed.before = record.before[0];
  observed.after = record.after[0];
  observed.paused_ns = record.paused_ns;
  observed.size = record.size;
  observed.unwatched = !has_watches;
  if (record.size < sizeof observed.before) {
    const uint64_t mask = (uint64_t{1} << 8 * record.size) - 1;
    observed.before &= mask;
    observed.after &= mask;
  }
  RawAccess first = Access(record, record.first, site.access, site.address + site.access.length, conflict);
  conflict.first_is_atomic = IsAtomic(first.kind);
  RawAccess second;
  if (record.has_second != 0) {
    MemoryAccess access;
    const std::optional<Located> located = SecondAccess(record.second);
    uint64_t behind = record.second.pc + (record.second.is_before != 0 ? 1 : 0);
    if (located) {
      access = located->instruction.access;
      behind = located->address + located->instruction.length;
    } else {
      access.size = static_cast<uint8_t>(record.size);
      access.flags = MemoryAccess::kWrites;
    }
    second = Access(record, record.second, access, behind, conflict);
    if (located) Judge(site, *located, conflict, first.kind, second.kind);
    conflict.has_both_stacks = first.stack.frames.size() > 1 && second.stack.frames.size() > 1;
    conflict.is_synchronization = conflict.first_is_atomic && IsAtomic(second.kind);
  } else {
    observed.unknown_writer = true;
    second.address = record.address;
    second.size = record.size;
    second.thread = wire::kNoThread;
    second.kind = AccessKind::kWrite;
    second.locks_unknown = true;
  }
  race.accesses.push_back(std::move(second));
  race.accesses.push_back(std::move(first));
  return conflict;
}

}  // namespace redflag
