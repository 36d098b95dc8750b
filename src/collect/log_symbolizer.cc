#include "collect/log_symbolizer.h"

#include <fmt/format.h>

#include <charconv>
#include <vector>

#include "report/text.h"

namespace redflag {
namespace {

constexpr std::string_view kMark = "+0x";
constexpr std::string_view kBeforePath = " \t([<{\"'=,;";  // what cannot be part of a path here

}  // namespace

std::string SymbolizeLine(std::string_view line, OffsetMeaning meaning, Symbolizer& symbolizer) {
  std::string text;
  std::string below;
  size_t done = 0;
  for (size_t mark = line.find(kMark); mark != std::string_view::npos; mark = line.find(kMark, mark + 1)) {
    const size_t before = mark == 0 ? std::string_view::npos : line.find_last_of(kBeforePath, mark - 1);
    const size_t begin = before == std::string_view::npos ? 0 : before + 1;
    const char* digits = line.data() + mark + kMark.size();
    uint64_t offset = 0;
    const auto [end, error] = std::from_chars(digits, line.data() + line.size(), offset, 16);
    if (begin == mark || begin < done || error != std::errc() || offset == UINT64_MAX) continue;

    const std::string path(line.substr(begin, mark - begin));
    const FileIdentity identity = IdentityOf(path);
    if (!identity.exists) continue;
    const std::vector<Frame>& frames =
        symbolizer.Frames(path, identity, meaning == OffsetMeaning::kExact ? offset + 1 : offset);
    if (frames.front().function.empty() && frames.front().file.empty()) continue;
    text += line.substr(done, begin - done);
    text += DescribeFrame(frames.front());
    done = static_cast<size_t>(end - line.data());
    for (size_t i = 1; i < frames.size(); ++i) {
      below += fmt::format("{:>{}}inlined into {}\n", "", begin + 2, DescribeFrame(frames[i]));
    }
  }
  text += line.substr(done);
  text += '\n';
  return text + below;
}

}  // namespace redflag
