// A report as text for people. No trailing blank lines; every line ends.
#pragma once

#include <string>

#include "report/race_report.h"

namespace redflag {

enum class Colour : bool { kNo, kYes };

std::string RenderText(const RaceReport& report, Colour colour);

}  // namespace redflag
