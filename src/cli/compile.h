// Which compiler stands behind `redflag cc` and `redflag c++`.
#pragma once

#include <string>

#include "cli/instrument.h"

namespace redflag::cli {

// $REDFLAG_CXX or $CXX (REDFLAG_CC, CC), else g++ (gcc). May be several words: "ccache g++".
std::string CompilerProgram(bool cxx);

// The first line that `PROGRAM --version` prints; empty if it cannot be run.
std::string CompilerVersion(const std::string& program);

CompilerFamily FamilyOf(const std::string& version);

}  // namespace redflag::cli
