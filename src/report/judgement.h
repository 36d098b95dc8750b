// What is thought of a race: its pattern, a suggestion, and how much it deserves attention, with reasons. From what was observed only; no
// report is dropped for it. The rules and where they come from are in docs/ranking.md.
#pragma once

#include <string_view>

#include "report/race_report.h"
#include "report/source.h"

namespace redflag {

Judgement Judge(const RaceReport& report, SourceText& source);

// The user says that races on this variable are expected: `reason` comes first, and the rank is low.
void JudgeSpecial(RaceReport& report, std::string_view reason);

// The instructions of its accesses look like this pattern, by name: it comes before what the source says, unless that knows the race for harmful.
void JudgeByInstructions(RaceReport& report, std::string_view pattern, std::string_view reason);

}  // namespace redflag
