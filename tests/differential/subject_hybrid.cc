// hybrid must equal the transcription of its paper, with the paper's limit on segment sets and without; and without a
// limit it must report every byte that really races, no later than the race is complete (docs/algorithms/hybrid.md).
#include <algorithm>

#include "base/mem.h"
#include "clocks/opened_packed_cell.h"
#include "detectors/hybrid.h"
#include "tests/differential/compare_reports.h"
#include "tests/differential/oracle.h"
#include "tests/differential/reference_hybrid.h"
#include "tests/differential/shortcuts.h"
#include "tests/differential/subject.h"

namespace redflag {
namespace {

struct Unlimited : Hybrid<PlainMem> {
  Unlimited() : Hybrid<PlainMem>(HybridOptions{.segment_set_limit = 0}) {}
};
struct Tight : Hybrid<PlainMem> {
  Tight() : Hybrid<PlainMem>(HybridOptions{.segment_set_limit = 2}) {}
};

// Unless something orders for it that orders nothing for the oracle: a condition variable that a mistake left without its lock.
std::optional<std::string> ReportsWhatRaces(const Trace& trace, const ReportSet& reports) {
  const auto is_notify = [](const Event& event) { return event.flag == EventFlag::kNotify; };
  if (std::ranges::any_of(trace.events, is_notify)) return std::nullopt;
  for (const oracle::FirstRace& race : oracle::FindRaces(trace)) {
    bool found = false;
    for (const auto& [event, byte] : reports) found |= byte == race.byte && event <= race.event;
    if (!found) return "hybrid does not report what races at event " + std::to_string(race.event);
  }
  return std::nullopt;
}

std::optional<std::string> CompareHybrid(const Trace& trace) {
  if (auto wrong = Difference(ReportsOf<Hybrid<PlainMem>>(trace), HybridReference(trace, false, 4).Run())) return wrong;
  if (auto wrong = Difference(ReportsOf<Tight>(trace), HybridReference(trace, false, 2).Run()))
    return "limit 2: " + *wrong;
  const ReportSet unlimited = ReportsOf<Unlimited>(trace);
  if (auto wrong = Difference(unlimited, HybridReference(trace, false, 0).Run())) return "no limit: " + *wrong;
  return ReportsWhatRaces(trace, unlimited);
}

// As it runs inside programs, where a cell has room for everybody: as without a limit.
template <class D>
std::optional<std::string> ComparePacked(const Trace& trace) {
  return Difference(ReportsOf<D>(trace), HybridReference(trace, false, 0).Run());
}

// Of bytes that `reports` has, `more` has to have a report no later.
std::optional<std::string> IsNoLater(const ReportSet& more, const ReportSet& reports, const char* who) {
  for (const auto& [event, byte] : reports) {
    const bool found =
        std::ranges::any_of(more, [&](const auto& report) { return report.second == byte && report.first <= event; });
    if (!found) return std::string(who) + " misses event " + std::to_string(event);
  }
  return std::nullopt;
}

// Reads apart from cells take the place of no other thread's, as reads in cells do that come after those. So what is reported lies between what is if every read does so, and if
// none does.
std::optional<std::string> ComparePlanes(const Trace& trace) {
  using Reads = HybridReference::Reads;
  const ReportSet reports = ReportsOf<WithPlanes<Hybrid<PlainMem, PackedCell>>>(trace);
  if (auto wrong = IsNoLater(reports, HybridReference(trace, false, 0).Run(), "hybrid with planes")) return wrong;
  return IsNoLater(HybridReference(trace, false, 0, Reads::kReplaceOwn).Run(), reports, "the reference");
}

const RegisterSubject kHybrid{"hybrid", CompareHybrid};
const RegisterSubject kHybridPlanes{"hybrid-planes", ComparePlanes};
const RegisterSubject kHybridPacked{"hybrid-packed", ComparePacked<Hybrid<PlainMem, PackedCell>>};
const RegisterSubject kHybridShortcuts{"hybrid-shortcuts", ComparePacked<WithShortcuts<Hybrid<PlainMem, PackedCell>>>};

}  // namespace
}  // namespace redflag
