// redflag analyze: recorded runs through one or more detectors.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/outcome.h"
#include "cli/terminal.h"
#include "cli/traces.h"
#include "offline/analysis.h"
#include "offline/part_file.h"
#ifdef REDFLAG_COLLECT
#include "offline/recorded_reports.h"
#endif

namespace redflag::cli {
namespace {

struct Options {
  std::vector<std::string> traces;
  std::vector<std::string> detectors;
  ShowOptions show;
  bool partial = false;
  uint32_t jobs = 1;
  std::string shard;  // I/N
  std::string output;
};

constexpr const char* kFooter =
    R"(TRACE is a text trace (docs/trace-format.md) or a recording; `-` reads a text trace from standard input.

Examples:
  redflag analyze run.trace                 the default detector (hb), reports as text
  redflag analyze -d hb -d null run.trace   two detectors, one after the other
  redflag analyze -d all run.trace          every detector, and a table of who says what and why they differ
  redflag analyze --stats run.trace         also how often each rule of the detector applied
  redflag analyze --json run.trace          one JSON document on standard output
  redflag analyze --check tests/*.trace     does each detector do what `!race` marks in the traces say?
  redflag analyze -j 0 app.rft              on all cores; says the same as on one
  redflag analyze --shard 2/8 -o 2.part app.rft
                                            one of eight parts, for `redflag merge`: docs/analyze.md
  redflag analyze --verify app.rft          does the detector find what it told while the program ran?

Exit codes: 0 no race, 66 races found, 1 --check or --verify failed, 2 bad command line or input.)";

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

bool ParseShard(const std::string& text, Shard& shard) {
  const char* const end = text.data() + text.size();
  uint32_t number = 0;
  const auto first = std::from_chars(text.data(), end, number);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '/') return false;
  const auto second = std::from_chars(first.ptr + 1, end, shard.count);
  shard.index = number - 1;
  return second.ec == std::errc() && second.ptr == end && number != 0 && number <= shard.count;
}

bool Refuse(std::string_view why) {
  fmt::print(stderr, "redflag: {}\n", why);
  return false;
}

// Do the options go together? Says why not.
bool AreConsistent(const Options& options) {
  if (options.shard.empty() != options.output.empty()) return Refuse("--shard and --output go together");
  if (options.shard.empty()) return true;
  if (options.traces.size() != 1 || options.traces.front() == "-")
    return Refuse("--shard takes one trace, from a file");
  if (options.detectors.size() > 1 || (!options.detectors.empty() && options.detectors.front() == "all")) {
    return Refuse("--shard takes one detector");
  }
  if (options.show.check || options.show.verify) return Refuse("--shard has no result that could be checked");
  if (options.jobs != 1) return Refuse("--shard and --jobs do not go together");
  return true;
}

bool Suits(const LoadedTrace& trace, const Options& options) {
  if (!trace.is_recording())
    return !options.show.verify || Refuse("--verify is for recordings, and this trace is text");
#ifndef REDFLAG_COLLECT
  return Refuse("this build of redflag cannot show the races of recordings: it was made without libdw");
#endif
  return !options.show.check || Refuse("--check is for text traces, and this is a recording");
}

// For --verify: the detector that told races while the trace was recorded. False, after saying why, if that is not what is wanted.
bool ChooseRecorded([[maybe_unused]] const LoadedTrace& trace, [[maybe_unused]] const Options& options,
                    [[maybe_unused]] std::vector<const DetectorInfo*>& detectors) {
#ifdef REDFLAG_COLLECT
  const std::string recorded = RecordedDetector(trace.binary->messages());
  const DetectorInfo* detector = FindDetector(recorded);
  if (detector == nullptr) return Refuse("--verify: the recording does not say which detector watched");
  if (options.detectors.empty()) detectors = {detector};
  for (const DetectorInfo* each : detectors) {
    if (each == detector) continue;
    return Refuse(fmt::format("--verify: {} watched when this was recorded, not {}", recorded, each->name));
  }
#endif
  return true;
}

// Nothing, after saying why, if the trace could not be read to its end.
std::optional<Analysis> Analyze(const LoadedTrace& trace, const DetectorInfo& detector, const Options& options,
                                std::optional<Shard> shard) {
  const EventSource& source = trace.source();
  uint32_t jobs = options.jobs != 0 ? options.jobs : std::max(1u, std::thread::hardware_concurrency());
  // What was told is of bytes, not of objects.
  if (options.show.verify && detector.by_object) jobs = 1;
  ProgressLine progress(fmt::format("{} {}", detector.name, source.name()), source.event_count());
  uint64_t done = 0;
  AnalysisOptions how;
  how.recorded = trace.is_recording();
  how.verify = options.show.verify;
  how.progress = [&](uint64_t more) { progress.Show(done += more); };
  if (shard) how.shard = *shard;
  Analysis analysis = shard ? detector.run(source, how) : AnalyzeInParallel(detector, source, how, jobs);
  if (analysis.error.empty()) return analysis;
  fmt::print(stderr, "redflag: {}\n", analysis.error);
  return std::nullopt;
}

int RunShard(const Options& options, const DetectorInfo& detector) {
  Part part;
  if (!ParseShard(options.shard, part.shard)) {
    Refuse("--shard wants I/N, with I from 1 to N");
    return kBadInput;
  }
  const std::optional<LoadedTrace> trace = LoadTrace(options.traces.front(), options.partial);
  if (!trace || !Suits(*trace, options)) return kBadInput;
  std::optional<Analysis> analysis = Analyze(*trace, detector, options, part.shard);
  if (!analysis) return kBadInput;
  part.version = REDFLAG_VERSION;
  part.trace = options.traces.front();
  part.identity = IdentityOf(part.trace);
  part.recorded = trace->is_recording();
  part.partial = options.partial;
  part.analysis = *std::move(analysis);
  if (const std::string problem = WritePart(part, options.output); !problem.empty()) {
    Refuse(problem);
    return kBadInput;
  }
  return kOk;
}

int RunAnalyze(const Options& options) {
  const std::vector<const DetectorInfo*> detectors = ChooseDetectors(options.detectors);
  if (detectors.empty() || !AreConsistent(options)) return kBadInput;
  if (!options.shard.empty()) return RunShard(options, *detectors.front());

  bool raced = false;
  bool failed = false;
  Presenter presenter(options.show);
  for (const std::string& path : options.traces) {
    const std::optional<LoadedTrace> trace = LoadTrace(path, options.partial);
    if (!trace || !Suits(*trace, options)) return kBadInput;
    std::vector<Outcome> outcomes;
    std::vector<const DetectorInfo*> these = detectors;
    if (options.show.verify && !ChooseRecorded(*trace, options, these)) return kBadInput;
    for (const DetectorInfo* detector : these) {
      std::optional<Analysis> analysis = Analyze(*trace, *detector, options, std::nullopt);
      if (!analysis) return kBadInput;
      outcomes.push_back(MakeOutcome(*trace, *detector, *std::move(analysis), options.show));
      const Outcome& outcome = outcomes.back();
      raced |= !outcome.reports.empty();
      failed |= outcome.has_failed(options.show);
      presenter.Add(*trace, outcome);
    }
    presenter.Compare(*trace, outcomes);
  }
  presenter.Finish();
  if (options.show.check || options.show.verify) return failed ? kMismatch : kOk;
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
  command->add_flag("--json", options->show.json, "One JSON document instead of text");
  command->add_flag("--stats", options->show.stats, "Also show how often each rule of the detector applied");
  command->add_flag("--check", options->show.check, "Hold the result against the expectations in the traces");
  command->add_flag("--verify", options->show.verify,
                    "Hold the races of a recording against those that were told while it was made");
  command->add_flag("--full", options->show.full, "Whole stacks, with the frames of libraries");
  command->add_flag("-q,--quiet", options->show.quiet, "One summary line a trace instead of full reports");
  command->add_option("-j,--jobs", options->jobs, "Threads to use; 0: as many as there are cores")
      ->type_name("N")
      ->check(CLI::Range(0u, 1024u))
      ->capture_default_str();
  command->add_flag("--partial", options->partial, "Of a recording that breaks off, analyze what is there");
  command->add_option("--shard", options->shard, "Analyze one of N parts of memory")->type_name("I/N");
  command->add_option("-o,--output", options->output, "With --shard: the file for `redflag merge`")->type_name("PART");
  command->add_option("--color", options->show.colour, "auto, always or never; NO_COLOR is respected")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->type_name("WHEN")
      ->capture_default_str();
  command->footer(kFooter);
  return [options] { return RunAnalyze(*options); };
}

}  // namespace redflag::cli
