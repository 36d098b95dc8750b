// The forms of text that a report can have for people and for scripts, by the names that the command line and REDFLAG_TEXT have for them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "report/race_report.h"
#include "report/source_lines.h"
#include "report/text.h"

namespace redflag {

enum class TextForm : uint8_t {
  kShort,  // stacks without the frames of libraries
  kFull,
  kTsan,  // as ThreadSanitizer prints it
};

// "short", "full" or "tsan".
std::optional<TextForm> TextFormOf(std::string_view name);

// One report, with what separates it from the next.
std::string RenderAs(TextForm form, const RaceReport& report, Colour colour, SourceLines* sources);

}  // namespace redflag
