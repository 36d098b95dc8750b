// The main job, done for real with one compiler: a small program with a race is built, run, and its report read.
#pragma once

#include <string>
#include <vector>

#include "cli/finding.h"

namespace redflag::cli {

struct Compiler {
  std::string program;
  std::string version;      // what it says of itself
  std::string chosen_by;    // the variable that names it; empty: none does
  bool cxx = false;         // for C++, not C
  bool is_default = false;  // `redflag c++` (`redflag cc`) runs it, as things are
};

// The default of each language whether it is there or not, and the supported ones that are there. A compiler with two names is
// listed once.
std::vector<Compiler> FindCompilers();

// Supported ones that are not there.
std::vector<std::string> MissingCompilers();

struct Trial {
  Finding finding;
  bool race_found = false;
  bool lines_found = false;  // the report names the source lines
};
Trial TryCompiler(const Compiler& compiler);

}  // namespace redflag::cli
