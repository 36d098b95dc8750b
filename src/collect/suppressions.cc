#include "collect/suppressions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace redflag {
namespace {

constexpr std::array kOtherTypes = {"deadlock", "mutex", "thread", "signal", "called_from_lib"};

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// `ns::Run(int, std::vector<int>) const` -> `ns::Run`: users tie patterns to the end of a name, not of its parameters.
std::string_view WithoutParameters(std::string_view function) {
  const size_t close = function.rfind(')');
  int depth = 0;
  for (size_t i = close; i != std::string_view::npos && i-- > 0;) {
    if (function[i] == ')') ++depth;
    if (function[i] == '(' && depth-- == 0) return function.substr(0, i);
  }
  return function;
}

}  // namespace

bool MatchesPattern(std::string_view pattern, std::string_view text) {
  bool tied = pattern.starts_with('^');
  if (tied) pattern.remove_prefix(1);
  size_t at = 0;
  while (!pattern.empty()) {
    if (pattern.front() == '*') {
      tied = false;
      pattern.remove_prefix(1);
      continue;
    }
    if (pattern == "$") return !tied || at == text.size();
    const std::string_view part = pattern.substr(0, pattern.find_first_of("*$"));
    pattern.remove_prefix(part.size());
    // The last part of a pattern that is tied to the end is where the text ends, not where it is found first.
    const bool at_the_end = pattern == "$";
    const size_t found = at_the_end && !tied ? text.rfind(part) : text.find(part, at);
    if (found == std::string_view::npos || found < at || (tied && found != at)) return false;
    at = found + part.size();
    if (at_the_end) return at == text.size();
    tied = true;
    if (!pattern.empty() && pattern.front() == '$') return false;  // in the middle: nothing has an end there
  }
  return true;
}

std::vector<std::string> Suppressions::Add(std::string_view text) {
  std::vector<std::string> complaints;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = Trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    const size_t colon = line.find(':');
    const std::string_view type = line.substr(0, colon);
    const std::string_view pattern = colon == std::string_view::npos ? "" : Trimmed(line.substr(colon + 1));
    const bool is_race = type == "race" || type == "race_top";
    if (pattern.empty() || (!is_race && std::find(kOtherTypes.begin(), kOtherTypes.end(), type) == kOtherTypes.end())) {
      complaints.push_back(fmt::format("'{}' is no suppression: expected race:PATTERN", line));
      continue;
    }
    if (is_race) entries_.push_back({.pattern = std::string(pattern), .top_only = type == "race_top"});
  }
  return complaints;
}

bool Suppressions::MatchesFrame(const Entry& entry, const Frame& frame) {
  for (const std::string* name : {&frame.function, &frame.file, &frame.module}) {
    if (!name->empty() && MatchesPattern(entry.pattern, *name)) return true;
  }
  return !frame.function.empty() && MatchesPattern(entry.pattern, WithoutParameters(frame.function));
}

bool Suppressions::MatchesStack(const Entry& entry, const AccessSite& site) {
  const size_t frames = entry.top_only ? std::min<size_t>(site.stack.size(), 1) : site.stack.size();
  return std::any_of(site.stack.begin(), site.stack.begin() + static_cast<std::ptrdiff_t>(frames),
                     [&](const Frame& frame) { return MatchesFrame(entry, frame); });
}

bool Suppressions::Match(const RaceReport& report) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    if (!entry.top_only && !report.variable.empty() && MatchesPattern(entry.pattern, report.variable)) return true;
    return MatchesStack(entry, report.access) ||
           std::any_of(report.earlier.begin(), report.earlier.end(),
                       [&](const AccessSite& site) { return MatchesStack(entry, site); });
  });
}

}  // namespace redflag
