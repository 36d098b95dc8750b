// A report as compilers print their warnings, for editors that jump to them: the completing access, then a note for each other place.
#pragma once

#include <string>

#include "report/frames.h"
#include "report/misuse_report.h"
#include "report/race_report.h"

namespace redflag {

std::string RenderEditor(const RaceReport& report, const SourceRoot& root);
std::string RenderEditor(const MisuseReport& report, const SourceRoot& root);

}  // namespace redflag
