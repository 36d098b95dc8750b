// How an Analysis is made with one detector: included by one generated file a detector
// (cmake/detectors.cmake).
#pragma once

#include <cstdint>

#include "offline/analysis.h"
#include "offline/replay.h"

namespace redflag {

// With the locks of the trace, in the order of the set.
template <class D>
void NoteLockset(Replay<D>& replay, LocksetId id, std::vector<std::vector<HeldLock>>& locksets) {
  if (locksets.size() <= Raw(id)) locksets.resize(Raw(id) + 1);
  if (!locksets[Raw(id)].empty()) return;
  for (const HeldLock held : replay.detector().locksets().View(id)) {
    locksets[Raw(id)].push_back(MakeHeldLock(replay.OriginalLock(LockOf(held)), ModeOf(held)));
  }
}

template <class D>
Analysis AnalyzeWith(const Trace& trace, const Progress& progress) {
  constexpr uint64_t kProgressStep = uint64_t{1} << 20;
  Replay<D> replay(trace.initial_threads);
  for (const NamedRange& range : trace.ranges) {
    if (range.first_event == 0) replay.DeclareVariable(range.addr, range.size);
  }
  for (uint64_t i = 0; i < trace.events.size(); ++i) {
    replay.Step(trace.events[i], i);
    if (progress && i % kProgressStep == 0) progress(i);
  }
  Analysis analysis{.detector = D::kName,
                    .races = std::move(replay.races()),
                    .locksets = {},
                    .rules = {},
                    .events = trace.events.size(),
                    .memory = replay.MemoryInUse()};
  for (const RaceRecord& race : analysis.races) {
    NoteLockset(replay, race.access.locks, analysis.locksets);
    for (uint32_t i = 0; i < race.earlier_count; ++i) {
      NoteLockset(replay, race.earlier[i].locks, analysis.locksets);
    }
  }
  const auto counts = replay.TotalCounts();
  for (size_t i = 0; i < counts.size(); ++i) {
    analysis.rules.push_back(RuleCount{D::kRules[i].name, D::kRules[i].tag, counts[i]});
  }
  return analysis;
}

template <class D>
DetectorInfo MakeDetectorInfo() {
  return DetectorInfo{.name = D::kName,
                      .summary = D::kSummary,
                      .why_more = D::kWhyMore,
                      .why_less = D::kWhyLess,
                      .reports = D::kReports,
                      .claim = D::kClaim,
                      .analyze = AnalyzeWith<D>};
}

}  // namespace redflag
