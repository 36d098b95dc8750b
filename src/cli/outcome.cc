#include "cli/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "cli/terminal.h"
#include "offline/comparison.h"
#ifdef REDFLAG_COLLECT
#include "offline/recorded_reports.h"
#endif
#include "offline/trace_reports.h"
#include "report/json.h"
#include "report/text.h"

namespace redflag::cli {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> DescribeExamplesOf([[maybe_unused]] const LoadedTrace& trace,
                                            [[maybe_unused]] const Analysis& analysis) {
#ifdef REDFLAG_COLLECT
  if (trace.is_recording()) return DescribeExamples(analysis, trace.binary->messages());
#endif
  return {};
}

std::string Count(uint64_t n, std::string_view what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

void PrintStats(const Outcome& outcome) {
  fmt::print("  rules of {} (count, rule, where it comes from):\n", outcome.detector->name);
  for (const RuleCount& rule : outcome.analysis.rules) {
    fmt::print("  {:>12}  {:<20} {}\n", rule.count, rule.name, rule.tag);
  }
  fmt::print("  {:>12}  bytes of detector state at the end\n", outcome.analysis.memory);
}

void PrintVerification(const LoadedTrace& trace, const Outcome& outcome) {
  const Verification& verification = outcome.analysis.verification;
  fmt::print("  races told while it ran: {} the same, {} only online, {} only offline\n", verification.same,
             verification.only_online, verification.only_offline);
  for (const std::string& example : DescribeExamplesOf(trace, outcome.analysis)) fmt::print("  {}\n", example);
}

void PrintText(const LoadedTrace& trace, const Outcome& outcome, const ShowOptions& options) {
  const Colour colour = ChooseColour(options.colour);
  if (!options.quiet) {
    SourceLines sources;
    const Detail detail = options.full ? Detail::kFull : Detail::kShort;
    for (const RaceReport& report : outcome.reports) fmt::print("{}\n", RenderText(report, colour, detail, &sources));
  }
  std::string more;
  if (outcome.repeated != 0) more += fmt::format("; {} of them not shown", Count(outcome.repeated, "repetition"));
  if (outcome.suppressed != 0) more += fmt::format("; {} suppressed", outcome.suppressed);
  fmt::print("{}: {}: {} in {}{}\n", trace.source().name(), outcome.detector->name,
             Count(outcome.reports.size(), "race"), Count(outcome.analysis.events, "event"), more);
  if (options.verify) PrintVerification(trace, outcome);
  if (options.stats) PrintStats(outcome);
}

Json ToJson(const LoadedTrace& trace, const Outcome& outcome, const ShowOptions& options) {
  Json races = Json::array();
  for (const RaceReport& report : outcome.reports) races.push_back(redflag::ToJson(report));
  Json json = {{"trace", trace.source().name()},
               {"detector", outcome.detector->name},
               {"events", outcome.analysis.events},
               {"races", races}};
  if (trace.is_recording()) {
    json["found"] = outcome.analysis.races_found;
    json["repeated"] = outcome.repeated;
    json["suppressed"] = outcome.suppressed;
  }
  if (options.verify) {
    const Verification& verification = outcome.analysis.verification;
    json["verification"] = {{"same", verification.same},
                            {"only_online", verification.only_online},
                            {"only_offline", verification.only_offline},
                            {"examples", DescribeExamplesOf(trace, outcome.analysis)}};
  }
  if (options.stats) {
    Json rules = Json::array();
    for (const RuleCount& rule : outcome.analysis.rules) {
      rules.push_back({{"rule", rule.name}, {"source", rule.tag}, {"count", rule.count}});
    }
    json["rules"] = rules;
    json["state_bytes"] = outcome.analysis.memory;
  }
  if (options.check) {
    Json mismatches = Json::array();
    for (const Mismatch& mismatch : outcome.mismatches) {
      mismatches.push_back({{"line", mismatch.line}, {"event", mismatch.event}, {"message", mismatch.message}});
    }
    json["mismatches"] = mismatches;
  }
  return json;
}

// Only with two or more detectors that report.
std::vector<Opinion> OpinionsOf(const std::vector<Outcome>& outcomes) {
  std::vector<Opinion> opinions;
  for (const Outcome& outcome : outcomes) {
    if (outcome.detector->reports) opinions.push_back({outcome.detector, &outcome.reports});
  }
  if (opinions.size() < 2) opinions.clear();
  return opinions;
}

std::string LinesText(const std::vector<uint32_t>& lines) {
  constexpr size_t kShown = 3;
  if (lines.empty()) return "-";
  std::string text;
  for (size_t i = 0; i < lines.size() && i < kShown; ++i) text += fmt::format("{}{}", i == 0 ? "" : ",", lines[i]);
  return lines.size() > kShown ? text + ",..." : text;
}

void PrintComparison(const Trace& trace, const std::vector<Outcome>& outcomes) {
  const std::vector<Opinion> opinions = OpinionsOf(outcomes);
  if (opinions.empty()) return;
  const std::vector<ComparedVariable> variables = CompareOpinions(opinions);
  if (variables.empty()) {
    fmt::print("{}: all detectors agree: no race\n", trace.name);
    return;
  }
  size_t width = std::strlen("variable");
  for (const ComparedVariable& variable : variables) width = std::max(width, variable.name.size());
  fmt::print("\nWho says what (the lines where races complete):\n  {:<{}}", "variable", width);
  for (const Opinion& opinion : opinions) fmt::print("  {:<10}", opinion.detector->name);
  fmt::print("\n");
  for (const ComparedVariable& variable : variables) {
    fmt::print("  {:<{}}", variable.name, width);
    for (const auto& lines : variable.lines) fmt::print("  {:<10}", LinesText(lines));
    fmt::print("\n");
  }
  for (const ComparedVariable& variable : variables) {
    for (const std::string& note : variable.notes) fmt::print("  {}: {}\n", variable.name, note);
  }
}

Json ComparisonJson(const Trace& trace, const std::vector<Outcome>& outcomes) {
  const std::vector<Opinion> opinions = OpinionsOf(outcomes);
  Json variables = Json::array();
  for (const ComparedVariable& variable : CompareOpinions(opinions)) {
    Json lines = Json::object();
    for (size_t i = 0; i < opinions.size(); ++i) lines[opinions[i].detector->name] = variable.lines[i];
    variables.push_back({{"variable", variable.name}, {"lines", lines}, {"notes", variable.notes}});
  }
  return {{"trace", trace.name}, {"variables", variables}};
}

}  // namespace

bool Outcome::has_failed(const ShowOptions& options) const {
  if (options.check && !mismatches.empty()) return true;
  const Verification& verification = analysis.verification;
  return options.verify && detector->is_precise() && verification.only_online + verification.only_offline != 0;
}

Outcome MakeOutcome(const LoadedTrace& trace, const DetectorInfo& detector, Analysis analysis,
                    const ShowOptions& options) {
  Outcome outcome{.detector = &detector, .analysis = std::move(analysis), .reports = {}, .mismatches = {}};
  if (!trace.is_recording()) {
    outcome.reports = BuildReports(*trace.text, outcome.analysis);
    if (options.check && detector.reports) outcome.mismatches = CheckExpectations(*trace.text, outcome.analysis);
    return outcome;
  }
#ifdef REDFLAG_COLLECT
  RecordedReports built = BuildRecordedReports(outcome.analysis, trace.binary->messages());
  outcome.reports = std::move(built.reports);
  outcome.repeated = built.repeated;
  outcome.suppressed = built.suppressed;
  for (const std::string& complaint : built.complaints) fmt::print(stderr, "redflag: warning: {}\n", complaint);
  if (built.dropped != 0) {
    fmt::print(stderr, "redflag: warning: {} are of too many kinds and have no report\n", Count(built.dropped, "race"));
  }
#endif
  return outcome;
}

void Presenter::Add(const LoadedTrace& trace, const Outcome& outcome) {
  if (options_.json) {
    results_.push_back(ToJson(trace, outcome, options_));
  } else {
    PrintText(trace, outcome, options_);
  }
  for (const Mismatch& mismatch : outcome.mismatches) {
    fmt::print(stderr, "{}:{}: check failed: {}\n", trace.source().name(), mismatch.line, mismatch.message);
  }
}

// By lines of the trace, which recordings do not have.
void Presenter::Compare(const LoadedTrace& trace, const std::vector<Outcome>& outcomes) {
  if (trace.is_recording()) return;
  if (!options_.json) return PrintComparison(*trace.text, outcomes);
  if (!OpinionsOf(outcomes).empty()) comparisons_.push_back(ComparisonJson(*trace.text, outcomes));
}

void Presenter::Finish() {
  if (!options_.json) return;
  Json document = {{"redflag", REDFLAG_VERSION}, {"results", results_}};
  if (!comparisons_.empty()) document["comparisons"] = comparisons_;
  fmt::print("{}\n", document.dump(2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace redflag::cli
