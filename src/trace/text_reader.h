// Reads the text trace format (docs/trace-format.md) into a Trace. It is streaming: one line is in memory at
// a time, and input that is not a trace is refused at its first error, however long it is.
//
// Promises:
// - A trace that comes back has been through TraceChecker, holds at least one event, and fills every table.
// - An error has the line and column (in characters, from 1) of what is wrong, and nothing is guessed after
//   it.
// - Work is O(log n) for each token, memory follows the trace. Nothing throws but std::bad_alloc.
//
// Calls are independent; any thread may make one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <string_view>
#include <variant>

#include "trace/trace.h"
#include "trace/trace_error.h"

namespace redflag {

struct Limits {
  size_t max_line = 65536;  // bytes, without the line's end
  uint64_t max_events = 200'000'000;
  uint64_t max_declarations = 10'000'000;  // names in `threads`, `var` and `barrier` lines
};

using TraceResult = std::variant<Trace, TraceError>;

// `name` is what the trace is called in messages and in the positions of events that do not give their own.
TraceResult ReadTextTrace(std::istream& in, std::string_view name, const Limits& limits = {});
TraceResult ReadTextTraceFromString(std::string_view text, std::string_view name, const Limits& limits = {});

}  // namespace redflag
