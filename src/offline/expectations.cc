#include "offline/expectations.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace redflag {
namespace {

bool Concerns(const Expectation& expectation, const std::string& detector) {
  const auto& names = expectation.detectors;
  return names.empty() || std::find(names.begin(), names.end(), detector) != names.end();
}

}  // namespace

std::vector<Mismatch> CheckExpectations(const Trace& trace, const Analysis& analysis) {
  std::vector<Mismatch> mismatches;
  if (trace.expectations.empty()) return mismatches;

  using Verdict = Expectation::Verdict;
  std::set<uint64_t> expected;
  for (const Expectation& expectation : trace.expectations) {
    if (expectation.verdict == Verdict::kRace && Concerns(expectation, analysis.detector)) {
      expected.insert(expectation.event);
    }
  }
  for (const Expectation& expectation : trace.expectations) {
    if (expectation.verdict != Verdict::kRace && Concerns(expectation, analysis.detector)) {
      expected.erase(expectation.event);
    }
  }
  std::set<uint64_t> reported;
  for (const RaceRecord& race : analysis.races) reported.insert(race.event);

  const auto line = [&](uint64_t event) { return event < trace.lines.size() ? trace.lines[event] : 0; };
  for (const uint64_t event : expected) {
    if (reported.contains(event)) continue;
    mismatches.push_back(
        {event, line(event), fmt::format("{} should report a race here and does not", analysis.detector)});
  }
  for (const uint64_t event : reported) {
    if (expected.contains(event)) continue;
    mismatches.push_back({event, line(event), fmt::format("{} reports a race here and should not", analysis.detector)});
  }
  std::sort(mismatches.begin(), mismatches.end(),
            [](const Mismatch& a, const Mismatch& b) { return a.event < b.event; });
  return mismatches;
}

}  // namespace redflag
