// Does a detector do what the author of a trace wrote beside the events (`!race`, `!norace`, `!miss`)?
//
// A trace that states any expectation is closed: for every detector that reports, exactly the events marked
// for it must complete races, and all others must not. `!miss(NAME)` takes an event out of an unqualified
// `!race` for that detector, and says why. A trace without expectations expects nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "offline/analysis.h"
#include "trace/trace.h"

namespace redflag {

struct Mismatch {
  uint64_t event = 0;
  uint32_t line = 0;
  std::string message;
};

std::vector<Mismatch> CheckExpectations(const Trace& trace, const Analysis& analysis);

}  // namespace redflag
