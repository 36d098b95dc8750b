#include "report/source_lines.h"

#include <string_view>
#include <vector>

namespace redflag {
namespace {

constexpr size_t kMaxShown = 160;

}  // namespace

std::string SourceLines::LineOf(const Frame& frame) {
  if (frame.file.empty() || frame.module.empty() || frame.line == 0) return "";
  const std::vector<std::string>& lines = files_.Lines(frame.file, frame.module);
  if (frame.line > lines.size()) return "";
  std::string_view rest = lines[frame.line - 1];
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
