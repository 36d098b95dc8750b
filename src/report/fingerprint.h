// The fingerprint of a race: what survives a change of the program elsewhere, another optimization level and another run. Made of
//
//   the variable, by name, if it is not a local one
//   for each side: the kind of access, and the innermost functions of the user's own code, inlined ones too
//
// and of no address, line, offset, thread, or order of the two sides. docs/ranking.md says how stable it is, measured. Only where the code has
// neither names nor source (a stripped program) functions and variables go by their places in it, and what it is called ends with that build.
#pragma once

#include <string>

#include "report/race_report.h"

namespace redflag {

// How many functions of a side count. The callers of a function that races are many, and which of them is met first is chance.
inline constexpr int kFingerprintFrames = 3;

// What the fingerprint is taken of, for people who wonder why two differ.
std::string FingerprintText(const RaceReport& report);

// 16 hexadecimal digits, the same on every machine.
std::string FingerprintOf(const RaceReport& report);

}  // namespace redflag
