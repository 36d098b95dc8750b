#include "offline/recorded_reports.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include "clocks/packed_access.h"
#include "collect/report_builder.h"
#include "collect/triage.h"
#include "collect/wire_reader.h"
#include "events/place.h"

namespace redflag {
namespace {

class Reporter {
 public:
  Reporter(const Analysis& analysis, const std::vector<std::vector<std::byte>>& messages)
      : analysis_(analysis), builder_(analysis.detector, ClaimOf(analysis.detector)), triage_(builder_) {
    builder_.OnProcess({.pid = 0, .start_time = 0, .command = "?"});
    for (const std::vector<std::byte>& message : messages) Take(message);
    for (const auto& [thread, fork] : analysis.forks) AddFork(Raw(thread), fork);
    for (auto& [id, thread] : threads_) builder_.OnThread(thread);
  }

  RecordedReports Build() {
    uint64_t kept = 0;
    for (size_t i = 0; i < analysis_.races.size(); ++i) {
      const uint64_t count = analysis_.recorded[i].count;
      kept += count;
      const RaceMessage message = MessageOf(analysis_.races[i], analysis_.recorded[i], i);
      std::optional<RaceReport> report = triage_.Take(message, count);
      if (!report) continue;
      report->event = analysis_.races[i].event;
      result_.reports.push_back(std::move(*report));
    }
    for (size_t i = 0; i < result_.reports.size(); ++i) result_.reports[i].repeated = triage_.groups()[i].repeated;
    result_.repeated = triage_.repeated();
    result_.suppressed = triage_.suppressed();
    result_.dropped = analysis_.races_found - kept;
    return std::move(result_);
  }

  std::vector<std::string> DescribeExamples() {
    std::vector<std::string> lines;
    for (const Verification::Example& example : analysis_.verification.examples) {
      RaceMessage message;
      message.accesses.push_back({.address = Raw(example.granule),
                                  .size = 8,
                                  .thread = Raw(example.thread),
                                  .value = std::nullopt,
                                  .stack = StackOf(example.context),
                                  .locks = {}});
      const RaceReport report = builder_.Build(message);
      std::string place = "?";
      if (!report.access.stack.empty()) {
        const Frame& frame = report.access.stack.front();
        place = !frame.file.empty() ? fmt::format("{} {}:{}", frame.function, frame.file, frame.line)
                                    : fmt::format("{} ({}+{:#x})", frame.function, frame.module, frame.offset);
      }
      lines.push_back(fmt::format("only {}: event {}, {}, bytes {:#04x} of {:#x}, at {}",
                                  example.online ? "online" : "offline", example.event, report.access.thread,
                                  Raw(example.bytes), Raw(example.granule), place));
    }
    return lines;
  }

 private:
  static Claim ClaimOf(const std::string& name) {
    const DetectorInfo* detector = FindDetector(name);
    return detector != nullptr ? detector->claim : Claim::kUnordered;
  }

  // ---- What the program said of itself ----

  void Take(const std::vector<std::byte>& bytes) {
    auto decoded = DecodeMessage(bytes);
    if (const auto* error = std::get_if<WireError>(&decoded)) {
      if (result_.complaints.empty()) {
        result_.complaints.push_back(fmt::format("a message of the recorded program makes no sense: {}", error->what));
      }
      return;
    }
    std::visit([this](auto& message) { On(message); }, std::get<WireMessage>(decoded));
  }
  void On(ProcessMessage& process) { builder_.OnProcess(std::move(process)); }
  void On(const ModuleMessage& module) { builder_.OnModule(module); }
  void On(ThreadMessage& thread) { threads_.insert_or_assign(thread.id, std::move(thread)); }
  void On(TagMessage& tag) { builder_.OnTag(std::move(tag)); }
  void On(const SuppressionsMessage& suppressions) {
    for (std::string& complaint : triage_.OnSuppressions(suppressions))
      result_.complaints.push_back(std::move(complaint));
  }
  // The races of then, and what else there was to say then.
  void On(const RaceMessage&) {}
  void On(const CountersMessage&) {}
  void On(const NoteMessage&) {}
  void On(const DetectorMessage&) {}
  void On(const RepeatsMessage&) {}
  void On(const WatchedMessage&) {}
  void On(const FlushMessage&) {}
  void On(const MisuseMessage&) {}
  void On(const ToleratedMessage&) {}
  void On(const EndMessage&) {}

  void AddFork(uint32_t id, const RecordedFork& fork) {
    ThreadMessage& thread = threads_[id];
    thread.id = id;
    if (thread.creator == wire::kNoThread) thread.creator = Raw(fork.creator);
    if (thread.created_at.frames.empty()) thread.created_at = StackOf(fork.context);
  }

  // ---- Races ----

  RecordedContext Node(uint32_t id) const {
    const auto it = analysis_.contexts.find(id);
    return it == analysis_.contexts.end() ? RecordedContext{} : it->second;
  }

  // The calls of a context, without the locks that were held.
  uint32_t CallsOf(ContextId context) const {
    const RecordedContext node = Node(Raw(context));
    return FlagOf(node.place) == PlaceFlag::kUnder ? node.caller : Raw(context);
  }

  RawStack StackOf(ContextId context) const {
    RawStack stack;
    stack.truncated = Raw(context) == PackedAccess::kMaxContext;
    for (uint32_t at = CallsOf(context); at != 0 && stack.frames.size() < wire::kMaxFrames; at = Node(at).caller) {
      stack.frames.push_back(Node(at).place & kPlaceMask);
    }
    return stack;
  }

  RawAccess AccessOf(const RaceRecord& race, const AccessRecord& record,
                     const std::vector<RecordedRace::Lock>& locks) const {
    const uint64_t place = Node(CallsOf(record.context)).place;
    RawAccess access;
    access.address = Raw(race.granule) + static_cast<uint64_t>(__builtin_ctz(uint32_t{Raw(record.bytes)} | 0x100));
    access.size = static_cast<uint32_t>(__builtin_popcount(Raw(record.bytes)));
    access.thread = Raw(record.thread);
    access.kind = record.kind;
    access.origin = record.origin;
    access.vptr = FlagOf(place) == PlaceFlag::kVptr;
    access.tag = TagOfPlace(place);
    access.stack = StackOf(record.context);
    for (const RecordedRace::Lock& lock : locks) {
      RawLock& raw = access.locks.emplace_back();
      raw.address = Raw(lock.addr);
      raw.shared = lock.mode == LockMode::kShared;
      if (lock.taken_at != kNoContext) raw.taken_at = StackOf(lock.taken_at);
    }
    return access;
  }

  RaceMessage MessageOf(const RaceRecord& race, const RecordedRace& recorded, uint64_t sequence) const {
    const auto locks_of = [&](size_t i) {
      return i < recorded.locks.size() ? recorded.locks[i] : std::vector<RecordedRace::Lock>();
    };
    RaceMessage message;
    message.sequence = sequence;
    message.address = Raw(race.granule) + static_cast<uint64_t>(__builtin_ctz(uint32_t{Raw(race.bytes)} | 0x100));
    message.bytes = static_cast<uint32_t>(race.granules * static_cast<uint64_t>(__builtin_popcount(Raw(race.bytes))));
    message.accesses_found = race.earlier_total + 1;
    if (recorded.block) {
      message.block = RawBlock{.begin = Raw(recorded.block->begin),
                               .bytes = recorded.block->size,
                               .thread = Raw(recorded.block->thread),
                               .place = wire::Place::kHeap,
                               .freed = false,
                               .allocated_at = StackOf(recorded.block->allocated_at)};
    }
    RawAccess& access = message.accesses.emplace_back(AccessOf(race, race.access, locks_of(0)));
    access.address = Raw(recorded.addr);
    access.size = static_cast<uint32_t>(recorded.size);
    for (uint32_t i = 0; i < race.earlier_count; ++i) {
      message.accesses.push_back(AccessOf(race, race.earlier[i], locks_of(i + 1)));
    }
    return message;
  }

  const Analysis& analysis_;
  ReportBuilder builder_;
  Triage triage_;
  std::map<uint32_t, ThreadMessage> threads_;
  RecordedReports result_;
};

}  // namespace

RecordedReports BuildRecordedReports(const Analysis& analysis, const std::vector<std::vector<std::byte>>& messages) {
  return Reporter(analysis, messages).Build();
}

std::string RecordedDetector(const std::vector<std::vector<std::byte>>& messages) {
  for (const auto& bytes : messages) {
    const auto decoded = DecodeMessage(bytes);
    const auto* message = std::get_if<WireMessage>(&decoded);
    const auto* detector = message == nullptr ? nullptr : std::get_if<DetectorMessage>(message);
    if (detector != nullptr) return detector->name;
  }
  return {};
}

std::vector<std::string> DescribeExamples(const Analysis& analysis,
                                          const std::vector<std::vector<std::byte>>& messages) {
  return Reporter(analysis, messages).DescribeExamples();
}

}  // namespace redflag
