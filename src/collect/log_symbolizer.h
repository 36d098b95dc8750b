// Names in logs that were written without a host side: `module+0xoffset`, anywhere in a line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "collect/symbolizer.h"

namespace redflag {

// Does an offset name the instruction after a call, as in stacks, or an instruction itself?
enum class OffsetMeaning : uint8_t { kReturnAddress, kExact };

// The line with what is known in place of each module and offset. Functions that the code was inlined into follow on lines of their
// own. What cannot be resolved stays as it is.
std::string SymbolizeLine(std::string_view line, OffsetMeaning meaning, Symbolizer& symbolizer);

}  // namespace redflag
