#include "report/source_lines.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace redflag {
namespace {

constexpr off_t kMaxFile = off_t{8} << 20;
constexpr size_t kMaxBytes = size_t{64} << 20;  // of all files
constexpr size_t kMaxShown = 160;

bool IsNewer(const timespec& a, const timespec& b) {
  return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

// Of a file that is not newer than `module`; empty if it cannot be read.
std::string ReadSource(const std::string& file, const std::string& module) {
  std::string text;
  struct stat built{};
  struct stat source{};
  if (stat(module.c_str(), &built) != 0) return text;
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return text;
  if (fstat(fd, &source) == 0 && S_ISREG(source.st_mode) && source.st_size <= kMaxFile &&
      !IsNewer(source.st_mtim, built.st_mtim)) {
    text.resize(static_cast<size_t>(source.st_size));
    const ssize_t count = read(fd, text.data(), text.size());
    text.resize(count < 0 ? 0 : static_cast<size_t>(count));
  }
  close(fd);
  return text;
}

}  // namespace

const std::string& SourceLines::TextOf(const std::string& file, const std::string& module) {
  const std::string key = module + '\0' + file;
  if (const auto known = files_.find(key); known != files_.end()) return known->second;
  if (bytes_ > kMaxBytes) {
    files_.clear();
    bytes_ = 0;
  }
  std::string text = ReadSource(file, module);
  bytes_ += key.size() + text.size();
  return files_.insert_or_assign(key, std::move(text)).first->second;
}

std::string SourceLines::LineOf(const Frame& frame) {
  if (frame.file.empty() || frame.module.empty() || frame.line == 0) return "";
  std::string_view rest = TextOf(frame.file, frame.module);
  for (uint32_t line = 1; line < frame.line; ++line) {
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) return "";
    rest.remove_prefix(end + 1);
  }
  rest = rest.substr(0, rest.find('\n'));
  const size_t first = rest.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return "";
  rest = rest.substr(first, rest.find_last_not_of(" \t\r") + 1 - first);
  std::string line(rest.substr(0, kMaxShown));
  if (rest.size() > kMaxShown) line += "...";
  for (char& c : line) {  // nothing that a terminal would obey
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  }
  return line;
}

}  // namespace redflag
