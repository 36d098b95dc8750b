// From the records of an Analysis to reports: merges the records of one event, and reads names, stacks, the
// places where locks were taken and threads created off the trace, in one pass over it.
#pragma once

#include <vector>

#include "offline/analysis.h"
#include "report/race_report.h"
#include "trace/trace.h"

namespace redflag {

// In order of the completing event; one report for an event and a variable.
std::vector<RaceReport> BuildReports(const Trace& trace, const Analysis& analysis);

}  // namespace redflag
