// A report as JSON for machines. Field names are stable: docs/json.md.
#pragma once

#include <nlohmann/json.hpp>

#include "report/race_report.h"

namespace redflag {

nlohmann::ordered_json ToJson(const RaceReport& report);

}  // namespace redflag
