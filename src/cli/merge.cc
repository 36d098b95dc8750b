// redflag merge: the parts of an analysis (`redflag analyze --shard`), put together.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/command.h"
#include "cli/outcome.h"
#include "cli/traces.h"
#include "offline/analysis.h"
#include "offline/part_file.h"

namespace redflag::cli {
namespace {

struct Options {
  std::vector<std::string> parts;
  std::string trace;
  ShowOptions show;
};

constexpr const char* kFooter =
    R"(The parts must be all those of one trace, made with one detector by this version of redflag. Prints what `redflag analyze`
would have printed. The trace must still be where it was, or --trace says where: reports take names from it.

Example:
  redflag analyze --shard 1/2 -o 1.part app.rft
  redflag analyze --shard 2/2 -o 2.part app.rft
  redflag merge 1.part 2.part

Exit codes: 0 no race, 66 races found, 2 bad command line or input.)";

int Refuse(const std::string& why) {
  fmt::print(stderr, "redflag: {}\n", why);
  return kBadInput;
}

int RunMerge(const Options& options) {
  std::vector<Part> parts;
  for (const std::string& path : options.parts) {
    auto part = ReadPart(path);
    if (const auto* error = std::get_if<std::string>(&part)) return Refuse(*error);
    parts.push_back(std::get<Part>(std::move(part)));
    if (parts.back().version != REDFLAG_VERSION) {
      return Refuse(
          fmt::format("{} was written by redflag {}, and this is {}", path, parts.back().version, REDFLAG_VERSION));
    }
  }
  if (const std::string problem = SortParts(parts, options.parts); !problem.empty()) return Refuse(problem);
  const Part& first = parts.front();
  const DetectorInfo* const detector = FindDetector(first.analysis.detector);
  if (detector == nullptr) return Refuse(fmt::format("no detector is called '{}'", first.analysis.detector));
  const std::string path = options.trace.empty() ? first.trace : options.trace;
  const std::string identity = IdentityOf(path);
  if (identity.empty()) return Refuse(fmt::format("cannot read the trace {}, which the parts are of", path));
  if (identity != first.identity) return Refuse(fmt::format("{} is not the trace that the parts are of", path));
  const std::optional<LoadedTrace> trace = LoadTrace(path, first.partial);
  if (!trace) return kBadInput;
  std::vector<Analysis> analyses;
  analyses.reserve(parts.size());
  for (Part& part : parts) analyses.push_back(std::move(part.analysis));
  const Outcome outcome = MakeOutcome(*trace, *detector, MergeShards(std::move(analyses)), options.show);
  Presenter presenter(options.show);
  presenter.Add(*trace, outcome);
  presenter.Finish();
  return outcome.reports.empty() ? kOk : kRaces;
}

}  // namespace

Run AddMerge(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("merge", "Put the parts of an analysis together");
  command->add_option("PART", options->parts, "Files that `redflag analyze --shard` wrote")->required();
  command->add_option("--trace", options->trace, "Where the trace is now")->type_name("TRACE");
  command->add_flag("--json", options->show.json, "One JSON document instead of text");
  command->add_flag("--stats", options->show.stats, "Also show how often each rule of the detector applied");
  command->add_flag("--full", options->show.full, "Whole stacks, with the frames of libraries");
  command->add_flag("-q,--quiet", options->show.quiet, "One summary line instead of full reports");
  command->add_option("--color", options->show.colour, "auto, always or never; NO_COLOR is respected")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->type_name("WHEN")
      ->capture_default_str();
  command->footer(kFooter);
  return [options] { return RunMerge(*options); };
}

}  // namespace redflag::cli
