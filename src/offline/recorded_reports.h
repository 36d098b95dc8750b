// Reports on the races of a recording: as the collector would have made them of the running program (collect/collector.h).
//
// Host side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "offline/analysis.h"
#include "report/race_report.h"

namespace redflag {

struct RecordedReports {
  std::vector<RaceReport> reports;
  uint64_t repeated = 0;                // races that a reader would take for one that has a report
  uint64_t suppressed = 0;              // races that nobody wants to hear of, repetitions included
  uint64_t dropped = 0;                 // different races beyond RaceKeeper::kMaxKept
  std::vector<std::string> complaints;  // about what the recording says of itself
};

// `messages`: what the program said of itself (BinaryTrace::messages()).
RecordedReports BuildRecordedReports(const Analysis& analysis, const std::vector<std::vector<std::byte>>& messages);

// The detector that watched while it was recorded; empty: the recording does not say.
std::string RecordedDetector(const std::vector<std::vector<std::byte>>& messages);

// The innermost place of each example of the verification, in words.
std::vector<std::string> DescribeExamples(const Analysis& analysis,
                                          const std::vector<std::vector<std::byte>>& messages);

}  // namespace redflag
