#include "report/source.h"

#include <filesystem>
#include <fstream>
#include <system_error>

namespace redflag {

namespace {

bool MayHaveChanged(const std::string& file, const std::string& module) {
  if (module.empty()) return false;
  std::error_code no_file;
  std::error_code no_module;
  const auto written = std::filesystem::last_write_time(file, no_file);
  const auto built = std::filesystem::last_write_time(module, no_module);
  return no_file || no_module || written > built;
}

}  // namespace

const std::vector<std::string>& SourceFiles::Lines(const std::string& file, const std::string& module) {
  static const std::vector<std::string> kNone;
  if (const auto found = files_.find({file, module}); found != files_.end()) return found->second;
  if (file.empty() || total_ > kMaxTotal || files_.size() == kMaxFiles) return kNone;
  std::vector<std::string>& lines = files_[{file, module}];
  std::error_code error;
  // A device or a pipe of that name would be read for ever.
  if (!std::filesystem::is_regular_file(file, error)) return lines;
  const uintmax_t size = std::filesystem::file_size(file, error);
  if (error || size > kMaxBytes || MayHaveChanged(file, module)) return lines;
  total_ += size;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace redflag
