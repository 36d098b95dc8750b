// What kind of file a program is.
#pragma once

#include <string>

namespace redflag::cli {

// Where execvp would find it; empty if nowhere.
std::string FindProgram(const std::string& name);

// Is it statically linked, so that no library can be loaded into it? False if it is no ELF file, or can't be read.
bool IsStaticallyLinked(const std::string& path);

// Was a compiler's own runtime of race detection linked into it? Another one can't be put in its place then. False if that can't be known.
bool HasOwnRaceDetector(const std::string& path);

}  // namespace redflag::cli
