// Comparison: which detector says what of each variable of a trace, and why they differ. The first precise detector of the
// list (hb) is the measure: a detector that reports more or less says itself how that can be.
#pragma once

#include <string>
#include <vector>

#include "offline/analysis.h"
#include "report/race_report.h"

namespace redflag {

// One detector's reports on the trace.
struct Opinion {
  const DetectorInfo* detector;
  const std::vector<RaceReport>* reports;
};

struct ComparedVariable {
  std::string name;
  std::vector<std::vector<uint32_t>> lines;  // by opinion: the trace lines where its races complete; empty: silent
  std::vector<std::string> notes;            // why they differ; empty: they agree
};

// Variables that some opinion finds racy, by name. Detectors that never report have no opinion and must be left out.
std::vector<ComparedVariable> CompareOpinions(const std::vector<Opinion>& opinions);

}  // namespace redflag
