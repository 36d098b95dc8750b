// What `redflag sample` and `redflag attach` have in common: options, and where reports go.
#pragma once

#include <sys/types.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/rendering.h"
#include "cli/run_records.h"
#include "collect/collector.h"
#include "collect/destination.h"
#include "sample/options.h"

namespace redflag::cli {

struct SamplingOptions {
  SampleOptions sampling;
  std::string budget = "3%";
  std::string output;
  std::string json;
  std::vector<std::string> suppressions;
  Rendering rendering;
  int exit_code = kRaces;
};

void AddSamplingOptions(CLI::App& command, SamplingOptions& options);

// The destinations of the processes of a run.
class SamplingOutputs {
 public:
  explicit SamplingOutputs(SamplingOptions& options) : options_(options) {}

  // Before anything is done: are the options and the files such that all can be written? Says what stands against it. `name` of the command.
  bool Prepare(const char* name);

  std::unique_ptr<Collector> MakeCollector(pid_t pid);

  // At the end. False: not all that was wanted could be written.
  bool Render(bool has_reports, const char* name) const;

 private:
  SamplingOptions& options_;
  std::optional<RunRecords> records_;
  std::string json_;
  std::vector<std::unique_ptr<Destination>> destinations_;
};

}  // namespace redflag::cli
