#include "report/static_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>
#include <limits>

#include "report/json_reader.h"
#include "report/own_code.h"

namespace redflag {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxFile = size_t{256} << 20;
constexpr size_t kMaxWarnings = 1'000'000;
constexpr int kMaxDepth = 500;

bool IsAboutThreads(std::string_view rule, std::string_view message) {
  std::string words(rule);
  words += ' ';
  words += message;
  std::transform(words.begin(), words.end(), words.begin(), [](unsigned char c) { return std::tolower(c); });
  static constexpr std::string_view kWords[] = {"thread", "race",   "mutex",  "lock_guard", "guarded",
                                                "atomic", "concur", "locked", "unlocked",   "synchroni"};
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](std::string_view word) { return words.find(word) != std::string::npos; });
}

// `a` and `b` name one file if one ends in the other, from a slash on: they may be relative to different folders.
bool NameTheSame(std::string_view a, std::string_view b) {
  if (a.size() < b.size()) std::swap(a, b);
  return !b.empty() && a.ends_with(b) &&
         (a.size() == b.size() || b.front() == '/' || a[a.size() - b.size() - 1] == '/');
}

std::string PlainPath(std::string_view path) {
  for (const std::string_view prefix : {"file://", "./"}) {
    if (path.starts_with(prefix)) path.remove_prefix(prefix.size());
  }
  return std::string(path);
}

bool TakeNumber(std::string_view& text, uint32_t& number) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec != std::errc() || number == 0) return false;
  text.remove_prefix(static_cast<size_t>(result.ptr - text.data()));
  return true;
}

std::string TextAt(const Json& object, const char* name) {
  const auto found = object.find(name);
  return object.is_object() && found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

const Json& PartOf(const Json& object, const char* name) {
  static const Json kNothing;
  if (!object.is_object()) return kNothing;
  const auto found = object.find(name);
  return found == object.end() ? kNothing : *found;
}

}  // namespace

std::string StaticWarnings::Read(std::istream& in, const std::string& name) {
  std::string text;
  for (char part[1 << 16]; in.read(part, sizeof part) || in.gcount() != 0;) {
    text.append(part, static_cast<size_t>(in.gcount()));
    if (text.size() > kMaxFile) return fmt::format("{}: more than {} MiB", name, kMaxFile >> 20);
  }
  if (in.bad()) return fmt::format("{}: cannot be read to its end", name);
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || text[first] != '{') {
    ReadLines(text);
    return "";
  }
  if (IsNestedTooDeeply(text, kMaxDepth)) return fmt::format("{}: nested too deeply for SARIF", name);
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return fmt::format("{}: this is not JSON", name);
  return ReadSarif(json) ? "" : fmt::format("{}: this is not SARIF", name);
}

// Lines that are something else are what else a compiler prints.
void StaticWarnings::ReadLines(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    size_t at = line.find(": warning: ");
    if (at == std::string_view::npos) at = line.find(": error: ");
    if (at == std::string_view::npos) continue;
    const std::string_view message = line.substr(line.find(": ", at + 1) + 2);
    std::string_view place = line.substr(0, at);  // FILE:LINE or FILE:LINE:COL
    std::string_view file;
    uint32_t number = 0;
    for (size_t colon = place.find(':'); colon != std::string_view::npos; colon = place.find(':', colon + 1)) {
      std::string_view rest = place.substr(colon + 1);
      if (!TakeNumber(rest, number) || (!rest.empty() && rest.front() != ':')) continue;
      file = place.substr(0, colon);
      break;
    }
    if (file.empty()) continue;
    const size_t open = message.ends_with(']') ? message.rfind('[') : std::string_view::npos;
    const std::string rule(open == std::string_view::npos ? message.substr(0, 60)
                                                          : message.substr(open + 1, message.size() - open - 2));
    if (IsAboutThreads(rule, message)) Add(file, number, rule);
  }
}

bool StaticWarnings::ReadSarif(const Json& sarif) {
  const Json& runs = PartOf(sarif, "runs");
  if (!runs.is_array()) return false;
  for (const Json& run : runs) {
    const Json& results = PartOf(run, "results");
    if (!results.is_array()) continue;
    for (const Json& result : results) {
      std::string rule = TextAt(result, "ruleId");
      if (rule.empty()) rule = TextAt(PartOf(result, "rule"), "id");
      const std::string message = TextAt(PartOf(result, "message"), "text");
      if (!IsAboutThreads(rule, message)) continue;
      for (const char* kind : {"locations", "relatedLocations"}) {
        const Json& locations = PartOf(result, kind);
        if (!locations.is_array()) continue;
        for (const Json& location : locations) {
          const Json& place = PartOf(location, "physicalLocation");
          const std::string file = TextAt(PartOf(place, "artifactLocation"), "uri");
          const Json& line = PartOf(PartOf(place, "region"), "startLine");
          if (file.empty() || !line.is_number_unsigned()) continue;
          const auto number = line.get<uint64_t>();
          if (number == 0 || number > std::numeric_limits<uint32_t>::max()) continue;
          Add(file, static_cast<uint32_t>(number), rule.empty() ? message.substr(0, 60) : rule);
        }
      }
    }
  }
  return true;
}

void StaticWarnings::Add(std::string_view file, uint32_t line, std::string rule) {
  if (size_ == kMaxWarnings) return;
  ++size_;
  by_line_[line].push_back({.file = PlainPath(file), .rule = std::move(rule)});
}

void StaticWarnings::Confirm(RaceReport& report) const {
  const auto look = [&](const AccessSite& site) {
    const Frame* frame = InnermostOwn(site.stack);
    const auto warned = frame == nullptr ? by_line_.end() : by_line_.find(frame->line);
    if (warned == by_line_.end()) return;
    for (const Warning& warning : warned->second) {
      if (!NameTheSame(warning.file, frame->file)) continue;
      std::string who = fmt::format("{} at {}:{}", warning.rule, warning.file, frame->line);
      if (std::find(report.confirmed_by.begin(), report.confirmed_by.end(), who) == report.confirmed_by.end()) {
        report.confirmed_by.push_back(std::move(who));
      }
    }
  };
  look(report.access);
  for (const AccessSite& site : report.earlier) look(site);
}

}  // namespace redflag
