#include "cli/sampling.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "collect/wire_writer.h"

namespace redflag::cli {
namespace {

// "3%" or "0.03".
std::optional<double> ShareOf(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || number < 0) return std::nullopt;
  if (std::strcmp(end, "%") == 0) return number <= 100 ? std::optional(number / 100) : std::nullopt;
  return *end == '\0' && number <= 1 ? std::optional(number) : std::nullopt;
}

}  // namespace

bool SamplingOutputs::Prepare(const char* name) {
  const auto budget = ShareOf(options_.budget);
  if (!budget) {
    fmt::print(stderr, "redflag {}: --budget is a share of the time of the threads, such as 3% or 0.03, not {}\n", name,
               options_.budget);
    return false;
  }
  options_.sampling.budget = *budget;
  json_ = options_.json;
  if (!options_.rendering.is_wanted()) return true;
  records_.emplace(options_.json);
  json_ = records_->path();
  std::vector<std::string> problems = CheckOutputs(options_.rendering);
  if (!records_->error().empty()) problems.push_back(records_->error());
  for (const std::string& each : problems) fmt::print(stderr, "redflag: {}\n", each);
  return problems.empty();
}

std::unique_ptr<Collector> SamplingOutputs::MakeCollector(pid_t pid) {
  Destination* destination =
      destinations_
          .emplace_back(std::make_unique<Destination>(options_.output.empty() ? "fd2" : options_.output, pid, true))
          .get();
  Collector::Options to{.detector = "sample",
                        .claim = Claim::kSimultaneous,
                        .pid = static_cast<uint32_t>(pid),
                        .json = {},
                        .form = options_.rendering.form()};
  if (!json_.empty()) {
    to.json = [this](const std::string& line) {
      if (!AppendToFile(json_, line)) fmt::print(stderr, "redflag: cannot write to {}\n", json_);
    };
  }
  auto collector = std::make_unique<Collector>(std::move(to), *destination);
  for (const std::string& file : options_.suppressions) {
    collector->Consume(EncodeMessage(SuppressionsMessage{.is_file = true, .text = file}));
  }
  return collector;
}

bool SamplingOutputs::Render(bool has_reports, const char* name) const {
  return !records_ || RenderRun(*records_, options_.rendering, has_reports, name);
}

void AddSamplingOptions(CLI::App& command, SamplingOptions& options) {
  SampleOptions& sampling = options.sampling;
  command.add_option("--rate", sampling.rate, "How many accesses to look at in a second; 0: none")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e6));
  command
      .add_option("--budget", options.budget,
                  "How much of the time of its threads they may be stopped, one for no more than twice that")
      ->capture_default_str()
      ->type_name("SHARE");
  command.add_option("--delay", sampling.most_delay_us, "The longest stop of a thread, in microseconds")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  command
      .add_option("--modules", sampling.modules,
                  "Which files to look into: names, `main`, or `all`; without it: the program itself")
      ->type_name("NAME,...")
      ->delimiter(',')
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
  command
      .add_option("--focus", sampling.focus,
                  "Look here more often: FILE:LINE, a function, or a file; may be given again")
      ->type_name("PLACE")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
  command.add_option("--focus-from", sampling.focus_from, "Look more often where these reports (--json) lead")
      ->type_name("FILE")
      ->check(CLI::ExistingFile);
  command.add_flag("--repeated-read", sampling.repeated_read_only,
                   "Without data breakpoints: only changes of values are seen");
  command.add_flag("--stats", sampling.stats, "Print at the end what was done");
  command.add_option("-o,--output", options.output, "Write reports to this file, not to standard error");
  command.add_option("--json", options.json, "Append each report as a line of JSON to this file")->type_name("FILE");
  AddRenderingOptions(command, options.rendering);
  command
      .add_option("--suppressions", options.suppressions,
                  "Rules for races that are not to be reported; may be given again")
      ->type_name("FILE")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all()
      ->check(CLI::ExistingFile);
}

}  // namespace redflag::cli
