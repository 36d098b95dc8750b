// Which reports a reader would take for one: those with the same fingerprint whose two sides are in the same places of the source. Races of one
// fingerprint in different lines are different.
#pragma once

#include <string>

#include "report/race_report.h"

namespace redflag {

// Equal for reports that are one. Empty: the report has no fingerprint, and stays alone.
std::string SameRaceKey(const RaceReport& report);

}  // namespace redflag
