#include "cli/installation.h"

#include <fmt/format.h>

#include <stdexcept>

namespace redflag::cli {

std::filesystem::path OwnPath() { return std::filesystem::read_symlink("/proc/self/exe"); }

std::filesystem::path LibraryFolder() { return OwnPath().parent_path().parent_path() / "lib" / "redflag"; }

std::filesystem::path RuntimeFolder(const std::string& detector) {
  const std::filesystem::path folder = LibraryFolder() / detector;
  if (std::filesystem::exists(folder / kRuntimeLibrary)) return folder;
  std::string there;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(LibraryFolder(), ignored)) {
    if (std::filesystem::exists(entry.path() / kRuntimeLibrary)) there += " " + entry.path().filename().string();
  }
  throw std::runtime_error(fmt::format("detector '{}' does not run inside programs (yet){}", detector,
                                       there.empty() ? "; no runtime library is installed" : "; there are:" + there));
}

}  // namespace redflag::cli
