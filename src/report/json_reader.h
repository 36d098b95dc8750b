// The way back from JSON (report/json.h) to a report. What it does not know it passes over, as fields are only ever added; what it knows
// must be of the right type. Any JSON is a report or an error: nothing is assumed of who wrote it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <variant>

#include "report/misuse_report.h"
#include "report/race_report.h"

namespace redflag {

// The report, or what is wrong with it and where: "access.stack[2].line: a number was expected".
std::variant<RaceReport, std::string> FromJson(const nlohmann::json& json);
std::variant<MisuseReport, std::string> MisuseFromJson(const nlohmann::json& json);

// Of text that is to be parsed: what is nested too deeply costs memory out of proportion.
bool IsNestedTooDeeply(std::string_view text, int most);

}  // namespace redflag
