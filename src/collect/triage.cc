#include "collect/triage.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string_view>
#include <utility>

#include "report/judgement.h"
#include "report/same_race.h"

namespace redflag {
namespace {

// Tables of the C++ library's facets, in which threads note, each for itself, what is the same for all: a byte, for a byte. Inline in its headers, so that it is
// compiled for race detection with the program that uses <regex>, say. Nobody else touches them.
bool IsInFacetTable(const AccessSite& site) {
  if (site.stack.empty()) return false;
  constexpr std::string_view kFunctions[] = {"std::ctype<char>::narrow(", "std::ctype<char>::widen(",
                                             "std::ctype<char>::_M_narrow_init(", "std::ctype<char>::_M_widen_init("};
  return std::any_of(std::begin(kFunctions), std::end(kFunctions), [&](std::string_view function) {
    return site.stack.front().function.find(function) != std::string::npos;
  });
}

bool IsInFacetTable(const RaceReport& report) {
  return !report.earlier.empty() && IsInFacetTable(report.access) &&
         std::all_of(report.earlier.begin(), report.earlier.end(),
                     [](const AccessSite& site) { return IsInFacetTable(site); });
}

}  // namespace

std::vector<std::string> Triage::OnSuppressions(const SuppressionsMessage& message) {
  wants_usage_ |= message.wants_usage;
  return message.is_file ? suppressions_.AddFiles(message.text) : suppressions_.Add(message.text);
}

void Triage::Count(size_t group, uint64_t count) {
  if (group == kUnwanted) {
    suppressed_ += count;
  } else {
    repeated_ += count;
    groups_[group].repeated += count;
  }
}

std::optional<RaceReport> Triage::Take(const RaceMessage& race, uint64_t count) {
  const auto [known, is_new] = by_key_.try_emplace(builder_.KeyOf(race), kUnwanted);
  size_t& group = known->second;
  const auto is_unwanted = [&] {
    Count(kUnwanted, count);
    return std::nullopt;
  };
  if (!is_new) {
    Count(group, count);
    if (group != kUnwanted) by_sequence_[race.sequence] = group;
    return std::nullopt;
  }
  if (suppressions_.MatchModules(builder_.ModulesOf(race))) return is_unwanted();
  RaceReport report = builder_.Build(race);
  if (IsInFacetTable(report) || suppressions_.Match(report)) return is_unwanted();
  if (const SuppressionRule* special = suppressions_.MatchSpecial(report)) {
    JudgeSpecial(report, fmt::format("a rule says that races on it are expected: {}", special->text));
  }
  const auto [placed, is_first] = by_place_.try_emplace(SameRaceKey(report), groups_.size());
  group = placed->second;
  by_sequence_[race.sequence] = group;
  if (!is_first) {
    Count(group, count);
    return std::nullopt;
  }
  groups_.push_back({.fingerprint = report.fingerprint,
                     .target = DescribeTarget(report),
                     .pattern = report.judgement ? report.judgement->pattern : "",
                     .rank = report.judgement ? report.judgement->rank : Judgement::Rank::kMedium});
  Count(group, count - 1);
  return report;
}

// Of unwanted races, repetitions are the program's own business: it subtracts what was suppressed from what it told.
void Triage::Repeat(uint64_t sequence, uint64_t count) {
  if (const auto found = by_sequence_.find(sequence); found != by_sequence_.end()) Count(found->second, count);
}

std::map<std::string, uint64_t> Triage::RepeatedByFingerprint() const {
  std::map<std::string, uint64_t> repeated;
  for (const Group& group : groups_) {
    if (group.repeated != 0) repeated[group.fingerprint] += group.repeated;
  }
  return repeated;
}

std::vector<std::string> DescribeGroups(const std::vector<Triage::Group>& groups, size_t most) {
  std::vector<size_t> order(groups.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return groups[a].rank != groups[b].rank ? groups[a].rank < groups[b].rank : a < b;
  });
  std::vector<std::string> lines;
  for (const size_t i : order) {
    if (lines.size() == most) {
      lines.push_back(fmt::format("and {} more", groups.size() - most));
      break;
    }
    const Triage::Group& group = groups[i];
    std::string line = fmt::format("#{:<3} {:<6} {}", i + 1, RankName(group.rank), group.target);
    if (!group.pattern.empty()) line += ": " + group.pattern;
    if (group.repeated != 0) line += fmt::format(", {} times", group.repeated + 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> DescribeUsage(const Suppressions& suppressions) {
  std::vector<std::string> lines;
  for (const SuppressionRule& rule : suppressions.rules()) {
    if (rule.matches == 0) continue;
    lines.push_back(fmt::format("{} race{} matched by {}", rule.matches, rule.matches == 1 ? "" : "s", rule.text));
  }
  for (const SuppressionRule& rule : suppressions.rules()) {
    if (rule.matches != 0) continue;
    // What a rule about code names is not watched: nothing of it comes as far as here.
    const char* what = IsAboutCode(rule.type) ? "applied in the program:" : "nothing matched by";
    lines.push_back(fmt::format("{} {}", what, rule.text));
  }
  return lines;
}

std::string TsanUsage(const Suppressions& suppressions, uint32_t pid) {
  uint64_t total = 0;
  std::string lines;
  for (const SuppressionRule& rule : suppressions.rules()) {
    if (rule.matches == 0) continue;
    total += rule.matches;
    lines += fmt::format("{} {}\n", rule.matches, rule.text);
  }
  return total == 0 ? "" : fmt::format("ThreadSanitizer: Matched {} suppressions (pid={}):\n{}", total, pid, lines);
}

}  // namespace redflag
