// What of a statically linked program is its own: the C library in it synchronizes by means that look like races from outside, and where it is a file of
// its own it is not sampled.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collider/sampling_set.h"

namespace redflag {

// Leaves those of the code that has debug information, which libraries for static linking come without. False: it is linked statically and has none,
// so that all are left.
bool KeepOwnCode(const std::string& path, std::vector<Site>& sites);

}  // namespace redflag
