#include "cli/installation.h"

#include <fmt/format.h>
#include <sys/auxv.h>

#include <algorithm>
#include <stdexcept>

namespace redflag::cli {

std::filesystem::path OwnPath() {
  std::error_code error;
  std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) return path;
  // Where there is no /proc: what the kernel was asked to run.
  const auto* asked = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  path = std::filesystem::canonical(asked == nullptr ? "" : asked, error);
  if (error) throw std::runtime_error("cannot find out where redflag is installed: /proc is missing");
  return path;
}

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

std::vector<std::filesystem::path> StandIns() {
  std::vector<std::filesystem::path> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(LibraryFolder() / "stand-ins", ignored)) {
    found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace redflag::cli
