// Writes a Trace in the text format (docs/trace-format.md). What it writes, ReadTextTrace reads to the same
// trace (trace/compare.h), and for a trace that came from there, with the same ids. The same trace gives the
// same text.
//
// The trace must satisfy TraceChecker. Its expectations must be such as the text format has: detectors with
// names, reasons of one line, at most one `miss` an event and no detector twice.
//
// What the format cannot say is replaced, so that the text is always readable: threads and objects without a
// good name of their own (missing, misspelled, taken) are numbered; ranges without one are written as
// addresses; texts and file names are cut to kMaxTextLength; an event without a position gets its line in the
// written file.
//
// Calls are independent; any thread may make one.
#pragma once

#include <ostream>
#include <string>

#include "trace/trace.h"

namespace redflag {

void WriteTextTrace(const Trace& trace, std::ostream& out);
std::string TextOf(const Trace& trace);

}  // namespace redflag
