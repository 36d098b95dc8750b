// A report as text for people. No trailing blank lines; every line ends.
#pragma once

#include <string>

#include "report/race_report.h"

namespace redflag {

enum class Colour : bool { kNo, kYes };

// FUNCTION  FILE:LINE:COLUMN, as far as it is known; else the module and the offset in it.
std::string DescribeFrame(const Frame& frame);

std::string RenderText(const RaceReport& report, Colour colour);

}  // namespace redflag
