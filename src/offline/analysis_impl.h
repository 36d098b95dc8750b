// How an Analysis is made with one detector: included by one generated file a detector
// (cmake/detectors.cmake).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "offline/analysis.h"
#include "offline/race_keeper.h"
#include "offline/replay.h"
#include "offline/verifier.h"

namespace redflag {

// With the locks of the trace, in the order of the set.
template <class D>
std::vector<HeldLock> LocksIn(Replay<D>& replay, LocksetId id) {
  std::vector<HeldLock> locks;
  for (const HeldLock held : replay.detector().locksets().View(id)) {
    locks.push_back(MakeHeldLock(replay.OriginalLock(LockOf(held)), ModeOf(held)));
  }
  return locks;
}

template <class D>
void NoteLockset(Replay<D>& replay, LocksetId id, std::vector<std::vector<HeldLock>>& locksets) {
  if (locksets.size() <= Raw(id)) locksets.resize(Raw(id) + 1);
  if (locksets[Raw(id)].empty()) locksets[Raw(id)] = LocksIn(replay, id);
}

// Feeds the events to the engine, and what is found to those who keep or compare it.
template <class D>
class Analyzer {
 public:
  Analyzer(const EventSource& source, const AnalysisOptions& options)
      : options_(options),
        source_(source),
        replay_(std::vector<Tid>(source.initial_threads().begin(), source.initial_threads().end()),
                {.shard = options.shard, .recorded = options.recorded}) {
    if (options.verify) verifier_.emplace(options.shard);
    if (const auto* text = dynamic_cast<const TraceSource*>(&source)) {
      for (const NamedRange& range : text->trace().ranges) {
        if (range.first_event == 0) replay_.DeclareVariable(range.addr, range.size);
      }
    }
  }

  Analysis Run() {
    // Objects are dealt out by where they begin, and whoever compares needs to know what comes next in each thread.
    const bool needs_all = D::kMap == Map::kObject || options_.verify;
    const std::unique_ptr<EventStream> stream = needs_all ? source_.Open() : source_.OpenPart(options_.shard);
    uint64_t shown = 0;
    for (std::span<const Event> events = stream->Next(); !events.empty(); events = stream->Next()) {
      const std::span<const uint64_t> places = stream->places();
      const uint64_t first = stream->passed() - events.size();
      for (size_t begin = 0; begin < events.size(); begin += kProgressStep) {
        const size_t end = std::min(events.size(), begin + kProgressStep);
        if (places.empty()) {
          Feed(events, begin, end, [&](size_t i) { return first + i; });
        } else {
          Feed(events, begin, end, [&](size_t i) { return places[i]; });
        }
        const uint64_t passed = places.empty() ? first + end : stream->passed();
        if (options_.progress) options_.progress(passed - shown);
        shown = passed;
      }
    }
    return Result(*stream, stream->passed());
  }

 private:
  static constexpr size_t kProgressStep = size_t{1} << 20;

  // Those from `begin` to `end`. place_of(i): where in the trace the i-th of them is.
  template <class PlaceOf>
  void Feed(std::span<const Event> events, size_t begin, size_t end, PlaceOf place_of) {
    if (!options_.recorded) {
      for (size_t i = begin; i < end; ++i) replay_.Step(events[i], place_of(i));
      return;
    }
    for (size_t i = begin; i < end; ++i) {
      const Event& event = events[i];
      if (verifier_) verifier_->OnEvent(event, place_of(i));
      replay_.Step(event, place_of(i));
      if (!replay_.races().empty()) [[unlikely]]
        TakeRaces(event);
      if (event.kind > EventKind::kWrite) keeper_.Note(event);
    }
  }

  void TakeRaces(const Event& event) {
    for (const RaceRecord& race : replay_.races()) {
      keeper_.Keep(race, event);
      if (verifier_) verifier_->OnRace(race);
    }
    replay_.races().clear();
  }

  Analysis Result(EventStream& stream, uint64_t events) {
    Analysis analysis;
    analysis.detector = D::kName;
    analysis.events = events;
    analysis.memory = replay_.MemoryInUse();
    analysis.error = stream.error();
    if (verifier_) analysis.verification = verifier_->Finish();
    if (options_.recorded) {
      keeper_.Finish(stream.contexts(), [&](LocksetId id) { return LocksIn(replay_, id); }, analysis);
    } else {
      analysis.races = std::move(replay_.races());
      analysis.races_found = analysis.races.size();
    }
    for (const RaceRecord& race : analysis.races) {
      NoteLockset(replay_, race.access.locks, analysis.locksets);
      for (uint32_t i = 0; i < race.earlier_count; ++i) {
        NoteLockset(replay_, race.earlier[i].locks, analysis.locksets);
      }
    }
    const auto counts = replay_.TotalCounts();
    for (size_t i = 0; i < counts.size(); ++i) {
      analysis.rules.push_back(
          RuleCount{.name = D::kRules[i].name, .tag = D::kRules[i].tag, .count = counts[i], .is_effort = IsEffort(i)});
    }
    return analysis;
  }

  static bool IsEffort(size_t rule) {
    if constexpr (requires { D::IsEffort(rule); }) return D::IsEffort(rule);
    return false;
  }

  const AnalysisOptions& options_;
  const EventSource& source_;
  Replay<D> replay_;
  RaceKeeper keeper_;
  std::optional<Verifier> verifier_;
};

template <class D>
Analysis AnalyzeWith(const EventSource& source, const AnalysisOptions& options) {
  return std::make_unique<Analyzer<D>>(source, options)->Run();
}

template <class D>
DetectorInfo MakeDetectorInfo() {
  return DetectorInfo{.name = D::kName,
                      .summary = D::kSummary,
                      .why_more = D::kWhyMore,
                      .why_less = D::kWhyLess,
                      .reports = D::kReports,
                      .claim = D::kClaim,
                      .by_object = D::kMap == Map::kObject,
                      .run = AnalyzeWith<D>};
}

}  // namespace redflag
