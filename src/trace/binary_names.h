// The names of a text trace as bytes, for the `names` blocks of a binary one: everything a Trace has but its events. Both directions.
// docs/trace-format.md has the layout.
//
// A reader trusts nothing: what comes back has been checked for ids that are out of range, but not whether the names are good ones.
// Calls are independent; any thread may make one.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "trace/trace.h"

namespace redflag {

// Hands the bytes over in pieces of at most kMaxBlockBytes. False as soon as `add` says so.
bool WriteNames(const Trace& trace, const std::function<bool(std::span<const std::byte>)>& add);

// `next` gives the pieces, an empty one at the end; valid until it is called again. Fills `trace`, but for its events, of which there
// are `events`. Empty: all is well; otherwise what is wrong, in words.
std::string ReadNames(const std::function<std::span<const std::byte>()>& next, uint64_t events, Trace& trace);

}  // namespace redflag
