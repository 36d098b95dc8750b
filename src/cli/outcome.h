// What one detector says of one trace, and how that is shown: the same whether it was found at once or in parts.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/traces.h"
#include "offline/analysis.h"
#include "offline/expectations.h"
#include "report/race_report.h"

namespace redflag::cli {

struct ShowOptions {
  std::string colour = "auto";
  bool json = false;
  bool stats = false;
  bool check = false;
  bool quiet = false;
  bool verify = false;
  bool full = false;
};

// One trace through one detector.
struct Outcome {
  const DetectorInfo* detector;
  Analysis analysis;
  std::vector<RaceReport> reports;
  std::vector<Mismatch> mismatches;
  uint64_t repeated = 0;    // of a recording: races like those of the reports
  uint64_t suppressed = 0;  // of a recording

  // --check or --verify failed.
  bool has_failed(const ShowOptions& options) const;
};

Outcome MakeOutcome(const LoadedTrace& trace, const DetectorInfo& detector, Analysis analysis,
                    const ShowOptions& options);

// Shows the outcomes of one trace at a time. JSON is one document, at the end.
class Presenter {
 public:
  explicit Presenter(ShowOptions options) : options_(std::move(options)) {}

  void Add(const LoadedTrace& trace, const Outcome& outcome);
  // All of this trace, for a comparison.
  void Compare(const LoadedTrace& trace, const std::vector<Outcome>& outcomes);
  void Finish();

 private:
  ShowOptions options_;
  nlohmann::ordered_json results_ = nlohmann::ordered_json::array();
  nlohmann::ordered_json comparisons_ = nlohmann::ordered_json::array();
};

}  // namespace redflag::cli
