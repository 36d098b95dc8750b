// Reports as SARIF 2.1.0 (OASIS), the form that code hosts and analysis dashboards take. One run; each report is a result with the
// completing access as its location, the other accesses related to it, and one thread flow for each thread.
#pragma once

#include <string>
#include <vector>

#include "report/frames.h"
#include "report/misuse_report.h"
#include "report/race_report.h"

namespace redflag {

// The whole file, a line for each result. `version`: of this tool.
std::string RenderSarif(const std::vector<RaceReport>& reports, const std::vector<MisuseReport>& misuses,
                        const SourceRoot& root, const std::string& version);

}  // namespace redflag
