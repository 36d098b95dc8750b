#include "collect/collector.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <variant>

#include "report/json.h"
#include "report/tsan.h"

namespace redflag {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxListed = 20;           // of reports, in the summary
constexpr uint32_t kMostPatience = 10'000;  // milliseconds

std::string LineOf(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

std::string Count(uint64_t n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

}  // namespace

void Collector::Consume(std::span<const std::byte> bytes, uint64_t position) {
  position_ = position;
  auto decoded = DecodeMessage(bytes);
  if (const auto* error = std::get_if<WireError>(&decoded)) {
    // Once: where one message is damaged, many are.
    if (unreadable_++ == 0) Say(fmt::format("warning: a message of the program makes no sense: {}", error->what));
    return;
  }
  std::visit([this](auto& message) { On(message); }, std::get<WireMessage>(decoded));
}

void Collector::Say(const std::string& text) {
  output_.Print([&](Colour) { return "redflag: " + text + "\n"; });
}

void Collector::On(const RaceMessage& race) {
  // From now on: to find the names takes a while, and the program goes on meanwhile.
  const std::chrono::milliseconds patience(std::min(builder_.process().watch_ms, kMostPatience));
  const Clock::time_point due = Clock::now() + patience;
  std::optional<RaceReport> report = triage_.Take(race);
  if (!report) return;
  held_.push_back({.position = position_, .sequence = race.sequence, .report = std::move(*report), .due = due});
  if (patience == patience.zero()) WriteAll();
}

void Collector::On(const MisuseMessage& misuse) {
  const MisuseReport report = builder_.Build(misuse);
  if (triage_.Suppresses(report)) {
    ++suppressed_misuses_;
    return;
  }
  ++misuses_;
  WriteAll();  // in the order in which they came
  output_.Print([&](Colour colour) { return RenderMisuse(options_.form, report, colour); });
  if (options_.json) options_.json(LineOf(MisuseToJson(report)));
}

void Collector::On(const WatchedMessage& watched) {
  const auto held = std::find_if(held_.begin(), held_.end(),
                                 [&](const Held& candidate) { return candidate.sequence == watched.sequence; });
  if (held == held_.end()) return;
  builder_.AddWatched(watched, held->report);
  held->due = Clock::time_point::min();
  WriteDue(Clock::now());
}

// In their order: the first one that is to wait keeps the others waiting.
void Collector::WriteDue(Clock::time_point now) {
  while (!held_.empty() && held_.front().due <= now) {
    Write(held_.front().report);
    held_.pop_front();
  }
}

std::optional<Collector::Clock::time_point> Collector::due() const {
  if (held_.empty()) return std::nullopt;
  return held_.front().due;
}

std::optional<uint64_t> Collector::held_since() const {
  if (held_.empty()) return std::nullopt;
  return held_.front().position;
}

void Collector::Write(const RaceReport& report) {
  output_.Print([&](Colour colour) { return RenderAs(options_.form, report, colour, &sources_); });
  if (options_.json) options_.json(LineOf(ToJson(report)));
}

void Collector::On(const SuppressionsMessage& suppressions) {
  for (const std::string& complaint : triage_.OnSuppressions(suppressions)) Say("warning: " + complaint);
}

void Collector::On(const NoteMessage& note) {
  const char* severity = note.severity == 0 ? "" : note.severity == 1 ? "warning: " : "error: ";
  Say(severity + note.text);
}

void Collector::Finish(uint64_t dropped) {
  WriteAll();
  const uint64_t lost = std::max(dropped, counters_.dropped_messages);
  const ProcessMessage& process = builder_.process();
  if (lost != 0) Say(fmt::format("warning: {} found no room: reports may be missing", Count(lost, "message")));
  if (unreadable_ > 1) Say(fmt::format("warning: {} made no sense", Count(unreadable_, "message")));
  if (options_.form == TextForm::kTsan) {
    if (races() + misuses_ != 0) output_.Print([&](Colour) { return TsanSummary(races() + misuses_); });
  } else if (races() != 0) {
    Say(fmt::format("{} in {} (process {}){}", Count(races(), "data race"), process.command, process.pid,
                    repeated() == 0 ? "" : fmt::format("; {} of them not shown", Count(repeated(), "repetition"))));
  }
  if (misuses_ != 0 && options_.form != TextForm::kTsan) {
    Say(fmt::format("{} of locks, threads or signals", Count(misuses_, "misuse")));
  }
  if (races() > 1 && options_.form != TextForm::kTsan) {
    for (const std::string& line : DescribeGroups(triage_.groups(), kMaxListed)) Say("  " + line);
  }
  if (triage_.wants_usage() && options_.form == TextForm::kTsan) {
    output_.Print([&](Colour) { return TsanUsage(triage_.suppressions(), process.pid); });
  } else if (triage_.wants_usage()) {
    for (const std::string& line : DescribeUsage(triage_.suppressions())) Say("suppressions: " + line);
  }
  if (!options_.json) return;
  Json repeated_by = Json::object();
  for (const auto& [fingerprint, count] : triage_.RepeatedByFingerprint()) repeated_by[fingerprint] = count;
  Json unused = Json::array();
  for (const SuppressionRule& rule : triage_.suppressions().rules()) {
    if (rule.matches == 0 && !IsAboutCode(rule.type)) unused.push_back(rule.text);
  }
  options_.json(LineOf({{"kind", "summary"},
                        {"pid", process.pid},
                        {"process", {{"pid", process.pid}, {"command", process.command}}},
                        {"detector", options_.detector},
                        {"orderly", ended_},
                        {"races", races()},
                        {"misuses", misuses_},
                        {"repeated", repeated_by},
                        {"repetitions", repeated()},
                        {"suppressed", suppressed()},
                        {"unused_suppressions", unused},
                        {"found", counters_.races},
                        {"duplicates", counters_.duplicates},
                        {"lost_messages", lost},
                        {"unreadable_messages", unreadable_},
                        {"threads", counters_.threads},
                        {"slots", counters_.slots},
                        {"contexts", counters_.contexts},
                        {"contexts_lost", counters_.contexts_lost},
                        {"flushes", counters_.flushes}}));
}

}  // namespace redflag
