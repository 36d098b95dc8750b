// Whether two traces say the same. Ids are compared by what they name, so traces that number their names
// differently are the same; so are traces that stand in other files or on other lines, and an event without a
// position goes with any. For tests and tools; a pure function, any thread may call it.
#pragma once

#include <optional>
#include <string>

#include "trace/trace.h"

namespace redflag {

// The first difference, in words; nothing if there is none.
std::optional<std::string> FirstDifference(const Trace& a, const Trace& b);

}  // namespace redflag
