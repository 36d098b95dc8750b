// Expectations in a text trace: `!race`, `!norace(hb, goldilocks)`, `!miss(eraser): reason`. The reader calls
// this for what stands behind an event; the writer for how to spell it.
//
// Both are pure functions; any thread may call them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "trace/trace.h"

namespace redflag {

// `text` is the rest of a line from a '!' on, and `offset` its place in the line. Fills verdict, detectors
// and reason, and returns how many bytes of `text` it took. Throws LineError.
size_t ParseExpectation(std::string_view text, size_t offset, Expectation& expectation);

std::string SpellExpectation(const Expectation& expectation);

}  // namespace redflag
