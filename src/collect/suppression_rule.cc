#include "collect/suppression_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace redflag {
namespace {

using Type = SuppressionRule::Type;

constexpr std::array<std::pair<std::string_view, Type>, 23> kTypes = {{{"race", Type::kRace},
                                                                       {"race_top", Type::kRaceTop},
                                                                       {"fingerprint", Type::kFingerprint},
                                                                       {"variable", Type::kVariable},
                                                                       {"function", Type::kFunction},
                                                                       {"type", Type::kType},
                                                                       {"fun", Type::kFunction},
                                                                       {"fun_r", Type::kFunctionTree},
                                                                       {"src", Type::kSource},
                                                                       {"file", Type::kSource},
                                                                       {"obj", Type::kObject},
                                                                       {"object", Type::kObject},
                                                                       {"called_from_lib", Type::kCalledFromLib},
                                                                       {"special", Type::kSpecial},
                                                                       {"lock", Type::kLock},
                                                                       {"rdlock", Type::kReadLock},
                                                                       {"trylock", Type::kTryLock},
                                                                       {"tryrdlock", Type::kTryReadLock},
                                                                       {"unlock", Type::kUnlock},
                                                                       {"mutex", Type::kMutex},
                                                                       {"thread", Type::kThread},
                                                                       {"signal", Type::kSignal},
                                                                       {"deadlock", Type::kDeadlock}}};
constexpr std::string_view kUntil = "until=";
constexpr std::string_view kCalledBy = "<-";
constexpr size_t kDigits = 16;  // of a fingerprint

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// Takes ` until=DATE` off the end. False: there is one that is no date.
bool TakeUntil(std::string_view& pattern, std::optional<Date>& until) {
  const size_t at = pattern.rfind(kUntil);
  if (at == std::string_view::npos || at == 0 || !IsSpace(pattern[at - 1])) return true;
  until = ParseDate(Trimmed(pattern.substr(at + kUntil.size())));
  pattern = Trimmed(pattern.substr(0, at));
  return until.has_value();
}

// At the arrows that stand between spaces.
std::vector<std::string> SplitFrames(std::string_view text) {
  std::vector<std::string> frames;
  for (size_t from = 0;;) {
    const size_t at = text.find(kCalledBy, from);
    if (at == std::string_view::npos) break;
    const size_t behind = at + kCalledBy.size();
    from = behind;
    if ((at != 0 && !IsSpace(text[at - 1])) || (behind != text.size() && !IsSpace(text[behind]))) continue;
    frames.emplace_back(Trimmed(text.substr(0, at)));
    text.remove_prefix(behind);
    from = 0;
  }
  frames.emplace_back(Trimmed(text));
  return frames;
}

std::optional<int> ParseNumber(std::string_view digits) {
  int number = 0;
  for (const char digit : digits) {
    if (digit < '0' || digit > '9') return std::nullopt;
    number = number * 10 + (digit - '0');
  }
  return number;
}

}  // namespace

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<Date> ParseDate(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto year = ParseNumber(text.substr(0, 4));
  const auto month = ParseNumber(text.substr(5, 2));
  const auto day = ParseNumber(text.substr(8, 2));
  if (!year || !month || !day) return std::nullopt;
  const Date date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                  std::chrono::day(static_cast<unsigned>(*day))};
  return date.ok() ? std::optional(date) : std::nullopt;
}

std::string FormatDate(Date date) {
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
}

Date Today() { return Date(std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now())); }

bool IsAboutLocks(Type type) {
  switch (type) {
    case Type::kLock:
    case Type::kReadLock:
    case Type::kTryLock:
    case Type::kTryReadLock:
    case Type::kUnlock:
      return true;
    default:
      return false;
  }
}

bool IsAboutCode(Type type) {
  switch (type) {
    case Type::kFunction:
    case Type::kType:
    case Type::kFunctionTree:
    case Type::kSource:
    case Type::kObject:
    case Type::kCalledFromLib:
      return true;
    default:
      return IsAboutLocks(type);
  }
}

std::variant<SuppressionRule, std::string> ParseSuppression(std::string_view line) {
  const size_t colon = std::min(line.find(':'), line.size());
  const std::string_view type = line.substr(0, colon);
  std::string_view pattern = Trimmed(line.substr(std::min(colon + 1, line.size())));
  const auto known = std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& each) { return each.first == type; });
  SuppressionRule rule;
  rule.text = line;
  if (!TakeUntil(pattern, rule.until)) return fmt::format("'{}': expected until=YYYY-MM-DD", line);
  if (known == kTypes.end() || pattern.empty()) {
    return fmt::format("'{}' is no suppression: expected race:PATTERN", line);
  }
  rule.type = known->second;
  if (rule.type == Type::kFingerprint) {
    const bool is_hex =
        std::all_of(pattern.begin(), pattern.end(), [](unsigned char c) { return std::isxdigit(c) != 0; });
    if (pattern.size() != kDigits || !is_hex)
      return fmt::format("'{}': a fingerprint has {} hexadecimal digits", line, kDigits);
    std::string& digits = rule.patterns.emplace_back(pattern);
    std::transform(digits.begin(), digits.end(), digits.begin(), [](unsigned char c) { return std::tolower(c); });
  } else if (rule.type == Type::kRace || rule.type == Type::kRaceTop) {
    rule.patterns = SplitFrames(pattern);
    const auto is_empty = [](const std::string& frame) { return frame.empty(); };
    if (std::any_of(rule.patterns.begin(), rule.patterns.end(), is_empty)) {
      return fmt::format("'{}': a frame is missing beside {}", line, kCalledBy);
    }
  } else {
    rule.patterns.emplace_back(pattern);
  }
  return rule;
}

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

}  // namespace redflag
