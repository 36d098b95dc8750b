// A report as a command of GitHub's workflows, which shows it beside the line in the change that is looked at.
#pragma once

#include <string>

#include "report/frames.h"
#include "report/misuse_report.h"
#include "report/race_report.h"

namespace redflag {

// ::error file=src/x.cc,line=3,col=5,title=Data race on x::... ; `warning` and `notice` for lower ranks.
std::string RenderGithub(const RaceReport& report, const SourceRoot& root);
std::string RenderGithub(const MisuseReport& report, const SourceRoot& root);

}  // namespace redflag
