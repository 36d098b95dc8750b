// Text traces to binary ones and back.
//
// A text trace becomes a binary one with names, from which the same text trace can be had again: events, ids, names, expectations. A
// recorded run becomes a text trace as far as there is one (trace/recorded_text.h); its contexts follow as a comment.
//
// Calls are independent; any thread may make one.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "trace/binary_file.h"
#include "trace/binary_trace.h"
#include "trace/text_reader.h"
#include "trace/trace.h"

namespace redflag {

// The trace must satisfy TraceChecker. Empty: all is well; otherwise why not, in words.
std::string WriteBinaryTrace(const Trace& trace, BinaryWriter& writer);

// Empty: all is well; otherwise why not, in words. `notes` gets what was replaced or left out, a line each. Everything is in memory for a
// while; a trace of more events than limits.max_events is refused.
std::string WriteAsText(const BinaryTrace& trace, std::ostream& out, std::vector<std::string>& notes,
                        const Limits& limits = {});

}  // namespace redflag
