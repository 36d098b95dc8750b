// The inverse of collect/wire_reader.h, for tests and for tools that make up messages. The program under test has a writer of
// its own, which runs under in-process rules.
#pragma once

#include <cstddef>
#include <vector>

#include "collect/wire_reader.h"

namespace redflag {

std::vector<std::byte> EncodeMessage(const WireMessage& message);

}  // namespace redflag
