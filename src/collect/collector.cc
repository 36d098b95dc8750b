#include "collect/collector.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <variant>

#include "report/json.h"
#include "report/tsan.h"

namespace redflag {
namespace {

using Json = nlohmann::ordered_json;

std::string LineOf(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

std::string Count(uint64_t n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

}  // namespace

void Collector::Consume(std::span<const std::byte> bytes) {
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
  const std::string key = builder_.KeyOf(race);
  if (!seen_.insert(key).second) {
    ++(unwanted_.contains(key) ? suppressed_ : repeated_);
    return;
  }
  const RaceReport report = builder_.Build(race);
  if (suppressions_.Match(report)) {
    ++suppressed_;
    unwanted_.insert(key);
    return;
  }
  ++races_;
  output_.Print([&](Colour colour) { return RenderAs(options_.form, report, colour, &sources_); });
  if (options_.json) options_.json(LineOf(ToJson(report)));
}

void Collector::On(const SuppressionsMessage& suppressions) {
  std::string text = suppressions.text;
  if (suppressions.is_file) {
    std::ifstream file(suppressions.text);
    if (!file) return Say(fmt::format("warning: cannot read the suppressions in {}", suppressions.text));
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  for (const std::string& complaint : suppressions_.Add(text)) Say("warning: " + complaint);
}

void Collector::On(const NoteMessage& note) {
  const char* severity = note.severity == 0 ? "" : note.severity == 1 ? "warning: " : "error: ";
  Say(severity + note.text);
}

void Collector::Finish(uint64_t dropped) {
  const uint64_t lost = std::max(dropped, counters_.dropped_messages);
  const ProcessMessage& process = builder_.process();
  if (lost != 0) Say(fmt::format("warning: {} found no room: reports may be missing", Count(lost, "message")));
  if (unreadable_ > 1) Say(fmt::format("warning: {} made no sense", Count(unreadable_, "message")));
  if (races_ != 0 && options_.form == TextForm::kTsan) {
    output_.Print([&](Colour) { return TsanSummary(races_); });
  } else if (races_ != 0) {
    Say(fmt::format("{} in {} (process {}){}", Count(races_, "data race"), process.command, process.pid,
                    repeated_ == 0 ? "" : fmt::format("; {} of them not shown", Count(repeated_, "repetition"))));
  }
  if (!options_.json) return;
  options_.json(LineOf({{"kind", "summary"},
                        {"process", {{"pid", process.pid}, {"command", process.command}}},
                        {"detector", options_.detector},
                        {"orderly", ended_},
                        {"races", races_},
                        {"repeated", repeated_},
                        {"suppressed", suppressed_},
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
