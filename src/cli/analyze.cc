// redflag analyze: recorded runs through one or more detectors.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cli/command.h"
#include "cli/terminal.h"
#include "offline/analysis.h"
#include "offline/comparison.h"
#include "offline/expectations.h"
#include "offline/trace_reports.h"
#include "report/json.h"
#include "report/text.h"
#include "trace/text_reader.h"

namespace redflag::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::vector<std::string> traces;
  std::vector<std::string> detectors;
  std::string colour = "auto";
  bool json = false;
  bool stats = false;
  bool check = false;
  bool quiet = false;
};

constexpr const char* kFooter = R"(TRACE is a text trace (docs/trace-format.md); `-` reads standard input.

Examples:
  redflag analyze run.trace                 the default detector (hb), reports as text
  redflag analyze -d hb -d null run.trace   two detectors, one after the other
  redflag analyze -d all run.trace          every detector, and a table of who says what and why they differ
  redflag analyze --stats run.trace         also how often each rule of the detector applied
  redflag analyze --json run.trace          one JSON document on standard output
  redflag analyze --check tests/*.trace     does each detector do what `!race` marks in the traces say?

Exit codes: 0 no race, 66 races found, 1 --check failed, 2 bad command line or input.)";

// One trace through one detector.
struct Outcome {
  const DetectorInfo* detector;
  Analysis analysis;
  std::vector<RaceReport> reports;
  std::vector<Mismatch> mismatches;
};

// Prints the error and returns nothing if the trace cannot be had.
std::optional<Trace> ReadTrace(const std::string& path) {
  const bool is_stdin = path == "-";
  const std::string name = is_stdin ? "<stdin>" : path;
  std::ifstream file;
  if (!is_stdin) {
    file.open(path, std::ios::binary);
    if (file && file.peek() == std::char_traits<char>::eof() && file.bad()) file.setstate(std::ios::failbit);
    if (!file && !file.eof()) {
      fmt::print(stderr, "redflag: cannot read {}: {}\n", path, std::strerror(errno));
      return std::nullopt;
    }
    file.clear();
  }
  TraceResult result = ReadTextTrace(is_stdin ? std::cin : file, name);
  if (const auto* error = std::get_if<TraceError>(&result)) {
    fmt::print(stderr, "{}", FormatError(*error, name));
    return std::nullopt;
  }
  return std::get<Trace>(std::move(result));
}

// Empty after printing an error if a name is unknown.
std::vector<const DetectorInfo*> ChooseDetectors(const std::vector<std::string>& names) {
  std::vector<const DetectorInfo*> chosen;
  const auto add = [&](const DetectorInfo& detector) {
    for (const DetectorInfo* have : chosen) {
      if (have == &detector) return;
    }
    chosen.push_back(&detector);
  };
  if (names.empty()) add(Detectors().front());
  for (const std::string& name : names) {
    if (name == "all") {
      for (const DetectorInfo& detector : Detectors()) add(detector);
    } else if (const DetectorInfo* detector = FindDetector(name)) {
      add(*detector);
    } else {
      std::string known;
      for (const DetectorInfo& each : Detectors()) known += fmt::format(" {}", each.name);
      fmt::print(stderr, "redflag: no detector is called '{}'; there are:{} (and 'all')\n", name, known);
      return {};
    }
  }
  return chosen;
}

Outcome Analyze(const Trace& trace, const DetectorInfo& detector, bool check) {
  ProgressLine progress(fmt::format("{} {}", detector.name, trace.name), trace.events.size());
  Outcome outcome{.detector = &detector,
                  .analysis = detector.analyze(trace, [&](uint64_t done) { progress.Show(done); }),
                  .reports = {},
                  .mismatches = {}};
  outcome.reports = BuildReports(trace, outcome.analysis);
  if (check && detector.reports) outcome.mismatches = CheckExpectations(trace, outcome.analysis);
  return outcome;
}

std::string Count(uint64_t n, std::string_view what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

void PrintStats(const Outcome& outcome) {
  fmt::print("  rules of {} (count, rule, where it comes from):\n", outcome.detector->name);
  for (const RuleCount& rule : outcome.analysis.rules) {
    fmt::print("  {:>12}  {:<20} {}\n", rule.count, rule.name, rule.tag);
  }
  fmt::print("  {:>12}  bytes of detector state at the end\n", outcome.analysis.memory);
}

void PrintText(const Trace& trace, const Outcome& outcome, const Options& options) {
  const Colour colour = ChooseColour(options.colour);
  if (!options.quiet) {
    for (const RaceReport& report : outcome.reports) fmt::print("{}\n", RenderText(report, colour));
  }
  fmt::print("{}: {}: {} in {}\n", trace.name, outcome.detector->name, Count(outcome.reports.size(), "race"),
             Count(trace.events.size(), "event"));
  if (options.stats) PrintStats(outcome);
}

Json ToJson(const Trace& trace, const Outcome& outcome, const Options& options) {
  Json races = Json::array();
  for (const RaceReport& report : outcome.reports) races.push_back(redflag::ToJson(report));
  Json json = {
      {"trace", trace.name}, {"detector", outcome.detector->name}, {"events", trace.events.size()}, {"races", races}};
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

int RunAnalyze(const Options& options) {
  const std::vector<const DetectorInfo*> detectors = ChooseDetectors(options.detectors);
  if (detectors.empty()) return kBadInput;

  bool raced = false;
  bool mismatched = false;
  Json results = Json::array();
  Json comparisons = Json::array();
  for (const std::string& path : options.traces) {
    const std::optional<Trace> trace = ReadTrace(path);
    if (!trace) return kBadInput;
    std::vector<Outcome> outcomes;
    for (const DetectorInfo* detector : detectors) {
      outcomes.push_back(Analyze(*trace, *detector, options.check));
      const Outcome& outcome = outcomes.back();
      raced |= !outcome.reports.empty();
      mismatched |= !outcome.mismatches.empty();
      if (options.json) {
        results.push_back(ToJson(*trace, outcome, options));
      } else {
        PrintText(*trace, outcome, options);
      }
      for (const Mismatch& mismatch : outcome.mismatches) {
        fmt::print(stderr, "{}:{}: check failed: {}\n", trace->name, mismatch.line, mismatch.message);
      }
    }
    if (options.json) {
      if (!OpinionsOf(outcomes).empty()) comparisons.push_back(ComparisonJson(*trace, outcomes));
    } else {
      PrintComparison(*trace, outcomes);
    }
  }
  if (options.json) {
    Json document = {{"redflag", REDFLAG_VERSION}, {"results", results}};
    if (!comparisons.empty()) document["comparisons"] = comparisons;
    fmt::print("{}\n", document.dump(2, ' ', false, Json::error_handler_t::replace));
  }
  if (options.check) return mismatched ? kMismatch : kOk;
  return raced ? kRaces : kOk;
}

}  // namespace

Run AddAnalyze(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("analyze", "Find the races of recorded runs");
  command->add_option("TRACE", options->traces, "Trace files, or - for standard input")->required();
  command->add_option("-d,--detector", options->detectors, "Detector to use; may be repeated; 'all' for every one")
      ->type_name("NAME")
      ->allow_extra_args(false);
  command->add_flag("--json", options->json, "One JSON document instead of text");
  command->add_flag("--stats", options->stats, "Also show how often each rule of the detector applied");
  command->add_flag("--check", options->check, "Hold the result against the expectations in the traces");
  command->add_flag("-q,--quiet", options->quiet, "One summary line a trace instead of full reports");
  command->add_option("--color", options->colour, "auto, always or never; NO_COLOR is respected")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->type_name("WHEN")
      ->capture_default_str();
  command->footer(kFooter);
  return [options] { return RunAnalyze(*options); };
}

}  // namespace redflag::cli
