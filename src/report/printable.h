// A report whose text cannot do anything: names come from programs and from files that anybody may have written, and a terminal obeys
// control characters, as a script obeys what looks like the beginning of a line. For forms that have no escapes of their own.
#pragma once

#include "report/misuse_report.h"
#include "report/race_report.h"

namespace redflag {

// The same with a question mark in the place of each control character.
RaceReport Printable(RaceReport report);
MisuseReport Printable(MisuseReport report);

}  // namespace redflag
