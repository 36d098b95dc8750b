#include "collect/suppressions.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <span>
#include <variant>

#include "report/own_code.h"

namespace redflag {
namespace {

using Type = SuppressionRule::Type;

constexpr std::string_view kAnyFrames = "...";

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

bool MatchesName(std::string_view pattern, std::string_view name) {
  return !name.empty() && MatchesPattern(pattern, name);
}

bool MatchesFunction(std::string_view pattern, const Frame& frame) {
  return MatchesName(pattern, frame.function) || MatchesName(pattern, WithoutParameters(frame.function));
}

bool MatchesFrame(std::string_view pattern, const Frame& frame) {
  return MatchesFunction(pattern, frame) || MatchesName(pattern, frame.file) || MatchesName(pattern, frame.module);
}

// Do the stack's first frames match the patterns, one after the other? Behind `...` the first place that fits is as good as any: nothing
// is tied to the end of the stack.
bool MatchesChain(std::span<const std::string> patterns, std::span<const Frame> stack) {
  bool anywhere = false;
  while (!patterns.empty()) {
    if (patterns.front() == kAnyFrames) {
      anywhere = true;
      patterns = patterns.subspan(1);
      continue;
    }
    const auto end = std::find(patterns.begin(), patterns.end(), kAnyFrames);
    const auto part = patterns.first(static_cast<size_t>(end - patterns.begin()));
    const auto is_here = [&] { return std::equal(part.begin(), part.end(), stack.begin(), MatchesFrame); };
    while (stack.size() >= part.size() && !is_here()) {
      if (!anywhere) return false;
      stack = stack.subspan(1);
    }
    if (stack.size() < part.size()) return false;
    stack = stack.subspan(part.size());
    patterns = patterns.subspan(part.size());
  }
  return true;
}

// `ns::Box::Put` is a member of `ns::Box`.
bool IsMemberOf(std::string_view pattern, const Frame& frame) {
  const std::string name = PlainName(frame.function);
  const size_t colon = name.rfind("::");
  return colon != std::string::npos && MatchesName(pattern, std::string_view(name).substr(0, colon));
}

bool MatchesSite(const SuppressionRule& rule, const AccessSite& site) {
  const std::span<const Frame> stack(site.stack);
  const Frame* own = InnermostOwn(site.stack);
  if (own == nullptr) return false;
  switch (rule.type) {
    case Type::kRace:
      for (size_t i = 0; i < stack.size(); ++i) {
        if (MatchesChain(rule.patterns, stack.subspan(i))) return true;
      }
      return false;
    case Type::kRaceTop:
      return MatchesChain(rule.patterns, stack);
    case Type::kFunction:
    case Type::kType:
    case Type::kSource:
      return MatchesCode(rule, *own);
    case Type::kFunctionTree:
      return std::any_of(stack.begin(), stack.end(), [&](const Frame& frame) { return MatchesCode(rule, frame); });
    case Type::kObject:
    case Type::kCalledFromLib:
      return MatchesCode(rule, stack.front());
    default:
      return false;
  }
}

bool MatchesReport(const SuppressionRule& rule, const RaceReport& report) {
  switch (rule.type) {
    case Type::kFingerprint:
      return report.fingerprint == rule.patterns.front();
    case Type::kVariable:
      return MatchesName(rule.patterns.front(), report.variable);
    case Type::kSpecial:
      return false;
    case Type::kRace:
      if (rule.patterns.size() == 1 && MatchesName(rule.patterns.front(), report.variable)) return true;
      break;
    default:
      break;
  }
  return MatchesSite(rule, report.access) ||
         std::any_of(report.earlier.begin(), report.earlier.end(),
                     [&](const AccessSite& site) { return MatchesSite(rule, site); });
}

// A rule about frames whose modules alone may decide.
bool MatchesModule(const SuppressionRule& rule, const std::vector<std::string>& modules) {
  const std::string& pattern = rule.patterns.front();
  if (modules.empty() || rule.patterns.size() != 1) return false;
  switch (rule.type) {
    case Type::kRace:
      return std::any_of(modules.begin(), modules.end(),
                         [&](const std::string& module) { return MatchesName(pattern, module); });
    case Type::kRaceTop:
    case Type::kObject:
    case Type::kCalledFromLib:
      return MatchesName(pattern, modules.front());
    default:
      return false;
  }
}

}  // namespace

bool MatchesCode(const SuppressionRule& rule, const Frame& frame) {
  const std::string& pattern = rule.patterns.front();
  switch (rule.type) {
    case Type::kType:
      return IsMemberOf(pattern, frame);
    case Type::kSource:
      return MatchesName(pattern, frame.file);
    case Type::kObject:
    case Type::kCalledFromLib:
      return MatchesName(pattern, frame.module);
    default:
      return IsAboutCode(rule.type) && MatchesFunction(pattern, frame);
  }
}

std::vector<std::string> Suppressions::Add(std::string_view text, const std::string& source) {
  std::vector<std::string> complaints;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = Trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    const std::string place = source.empty() ? "" : fmt::format("{}:{}: ", source, number);
    auto parsed = ParseSuppression(line);
    if (const auto* error = std::get_if<std::string>(&parsed)) {
      complaints.push_back(place + *error);
    } else {
      auto& rule = std::get<SuppressionRule>(parsed);
      if (rule.until && *rule.until < today_) {
        complaints.push_back(fmt::format("{}'{}' has expired and hides nothing any more", place, rule.text));
      } else {
        rules_.push_back(std::move(rule));
      }
    }
  }
  return complaints;
}

std::vector<std::string> Suppressions::AddFiles(std::string_view names) {
  std::vector<std::string> complaints;
  while (!names.empty()) {
    const size_t end = std::min(names.find(';'), names.size());
    const std::string name(names.substr(0, end));
    names.remove_prefix(std::min(end + 1, names.size()));
    if (name.empty()) continue;
    std::ifstream file(name);
    if (!file) {
      complaints.push_back(fmt::format("cannot read the suppressions in {}", name));
      continue;
    }
    const std::string text(std::istreambuf_iterator<char>(file), {});
    for (std::string& complaint : Add(text, name)) complaints.push_back(std::move(complaint));
  }
  return complaints;
}

bool Suppressions::Match(const MisuseReport& report) {
  const Type type = report.category == "mutex"      ? Type::kMutex
                    : report.category == "thread"   ? Type::kThread
                    : report.category == "deadlock" ? Type::kDeadlock
                                                    : Type::kSignal;
  const auto matches = [&](const SuppressionRule& rule, const std::vector<Frame>& stack) {
    return std::any_of(stack.begin(), stack.end(),
                       [&](const Frame& frame) { return MatchesFrame(rule.patterns.front(), frame); });
  };
  for (SuppressionRule& rule : rules_) {
    if (rule.type != type) continue;
    const bool is_named = type == Type::kThread &&
                          std::any_of(report.threads.begin(), report.threads.end(), [&](const ThreadInfo& thread) {
                            return matches(rule, thread.created_at) || MatchesName(rule.patterns.front(), thread.title);
                          });
    const bool is_in_cycle = std::any_of(report.cycle.begin(), report.cycle.end(), [&](const WaiterInfo& waiter) {
      return matches(rule, waiter.wanted.taken_at) || matches(rule, waiter.held.taken_at);
    });
    if (!is_named && !is_in_cycle && !matches(rule, report.where) && !matches(rule, report.taken_at)) continue;
    ++rule.matches;
    return true;
  }
  return false;
}

bool Suppressions::Match(const RaceReport& report) {
  const auto found = std::find_if(rules_.begin(), rules_.end(),
                                  [&](const SuppressionRule& rule) { return MatchesReport(rule, report); });
  if (found == rules_.end()) return false;
  ++found->matches;
  return true;
}

bool Suppressions::MatchModules(const std::vector<std::vector<std::string>>& modules) {
  const auto found = std::find_if(rules_.begin(), rules_.end(), [&](const SuppressionRule& rule) {
    return std::any_of(modules.begin(), modules.end(), [&](const auto& stack) { return MatchesModule(rule, stack); });
  });
  if (found == rules_.end()) return false;
  ++found->matches;
  return true;
}

const SuppressionRule* Suppressions::MatchSpecial(const RaceReport& report) {
  const auto found = std::find_if(rules_.begin(), rules_.end(), [&](const SuppressionRule& rule) {
    return rule.type == Type::kSpecial && MatchesName(rule.patterns.front(), report.variable);
  });
  if (found == rules_.end()) return nullptr;
  ++found->matches;
  return &*found;
}

}  // namespace redflag
