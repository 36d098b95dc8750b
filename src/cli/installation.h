// Where the parts of this installation are: the command itself, and the runtime libraries beside it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace redflag::cli {

// The file that runs now.
std::filesystem::path OwnPath();

// lib/redflag of the tree whose bin/ the command is in.
std::filesystem::path LibraryFolder();

// The folder of a detector's runtime library; throws std::runtime_error if there is none.
std::filesystem::path RuntimeFolder(const std::string& detector);

// The libraries that stand in for the runtimes of compilers, in programs that were linked with those.
std::vector<std::filesystem::path> StandIns();

inline constexpr const char* kRuntimeLibrary = "libredflag_rt.so";

}  // namespace redflag::cli
