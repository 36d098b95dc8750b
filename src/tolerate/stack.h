// Where the program is, without the help of a runtime.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace redflag::tolerate {

// As `redflag symbolize` wants it: a file and the return address in it; without a file, an address.
struct CodePlace {
  std::string module;
  uint64_t offset = 0;
};

// The calls of this thread, innermost first, those of this library left out.
std::vector<CodePlace> Callers();

// Is this thread in exit()?
bool IsExiting();

}  // namespace redflag::tolerate
