// A report as text for people. No trailing blank lines; every line ends.
#pragma once

#include <string>

#include "report/race_report.h"
#include "report/source_lines.h"

namespace redflag {

enum class Colour : bool { kNo, kYes };

// Of stacks: kShort leaves out the frames of libraries and the middle of long stacks, and says so.
enum class Detail : bool { kShort, kFull };

// FUNCTION  FILE:LINE:COLUMN, as far as it is known; else the module and the offset in it.
std::string DescribeFrame(const Frame& frame);

// With the source of the accesses if there is something to read it from.
std::string RenderText(const RaceReport& report, Colour colour, Detail detail = Detail::kFull,
                       SourceLines* sources = nullptr);

}  // namespace redflag
