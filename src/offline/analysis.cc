#include "offline/analysis.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <iterator>
#include <map>
#include <thread>
#include <tuple>
#include <utility>

#include "offline/race_keeper.h"
#include "offline/race_order.h"
#include "offline/verifier.h"

namespace redflag {

namespace analyzers {
#define REDFLAG_DETECTOR(Class, name) DetectorInfo name();
#include "detectors/list.inc"
#undef REDFLAG_DETECTOR
}  // namespace analyzers

std::span<const DetectorInfo> Detectors() {
  static const DetectorInfo kDetectors[] = {
#define REDFLAG_DETECTOR(Class, name) analyzers::name(),
#include "detectors/list.inc"
#undef REDFLAG_DETECTOR
  };
  return kDetectors;
}

const DetectorInfo* FindDetector(std::string_view name) {
  for (const DetectorInfo& detector : Detectors()) {
    if (detector.name == name) return &detector;
  }
  return nullptr;
}

Analysis DetectorInfo::analyze(const Trace& trace, const Progress& progress) const {
  AnalysisOptions options;
  options.progress = progress;
  return run(TraceSource(trace), options);
}

Analysis AnalyzeInParallel(const DetectorInfo& detector, const EventSource& source, AnalysisOptions options,
                           uint32_t jobs) {
  options.shard = {};
  if (jobs <= 1) return detector.run(source, options);
  std::vector<Analysis> shards(jobs);
  std::vector<std::exception_ptr> failures(jobs);
  std::vector<std::thread> threads;
  threads.reserve(jobs);
  for (uint32_t i = 0; i < jobs; ++i) {
    threads.emplace_back([&, i] {
      try {
        AnalysisOptions mine = options;
        mine.shard = {.index = i, .count = jobs};
        if (i != 0) mine.progress = {};
        shards[i] = detector.run(source, mine);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  return MergeShards(std::move(shards));
}

namespace {

// Sets of locks of several analyses under new names, those that are equal under one.
class LocksetNames {
 public:
  LocksetId NameOf(const std::vector<HeldLock>& set) {
    if (set.empty()) return kEmptyLockset;
    const auto [it, is_new] = ids_.try_emplace(set, LocksetId{static_cast<uint32_t>(sets_.size())});
    if (is_new) sets_.push_back(set);
    return it->second;
  }
  std::vector<std::vector<HeldLock>> Take() { return std::move(sets_); }

 private:
  std::map<std::vector<HeldLock>, LocksetId> ids_;
  std::vector<std::vector<HeldLock>> sets_{1};  // kEmptyLockset
};

// Of races that look the same in several shards, the first is kept; as one engine would have.
void KeepFirst(Analysis& analysis) {
  std::map<std::string, size_t> kept;
  size_t used = 0;
  for (size_t i = 0; i < analysis.races.size(); ++i) {
    const auto [it, is_new] = kept.try_emplace(LooksOf(analysis.races[i], analysis.recorded[i]), used);
    if (!is_new) {
      analysis.recorded[it->second].count += analysis.recorded[i].count;
      continue;
    }
    if (used != i) {
      analysis.races[used] = analysis.races[i];
      analysis.recorded[used] = std::move(analysis.recorded[i]);
    }
    ++used;
  }
  used = std::min(used, RaceKeeper::kMaxKept);
  analysis.races.resize(used);
  analysis.recorded.resize(used);
}

}  // namespace

Analysis MergeShards(std::vector<Analysis> shards) {
  Analysis merged;
  struct Source {
    size_t shard;
    size_t index;
  };
  std::vector<Source> order;
  for (size_t shard = 0; shard < shards.size(); ++shard) {
    Analysis& part = shards[shard];
    for (size_t i = 0; i < part.races.size(); ++i) order.push_back({shard, i});
    merged.memory += part.memory;
    merged.races_found += part.races_found;
    if (merged.error.empty()) merged.error = part.error;
    merged.contexts.merge(part.contexts);
    merged.forks.merge(part.forks);
    merged.verification.same += part.verification.same;
    merged.verification.only_online += part.verification.only_online;
    merged.verification.only_offline += part.verification.only_offline;
    std::ranges::copy(part.verification.examples, std::back_inserter(merged.verification.examples));
    if (shard == 0) {
      merged.detector = part.detector;
      merged.events = part.events;
      merged.rules = part.rules;
      continue;
    }
    for (size_t i = 0; i < merged.rules.size() && i < part.rules.size(); ++i)
      merged.rules[i].count += part.rules[i].count;
  }
  SortExamples(merged.verification);

  std::ranges::sort(order, [&](const Source& a, const Source& b) {
    const RaceRecord& first = shards[a.shard].races[a.index];
    const RaceRecord& second = shards[b.shard].races[b.index];
    if (ComesBefore(first, second)) return true;
    if (ComesBefore(second, first)) return false;
    return std::tie(a.shard, a.index) < std::tie(b.shard, b.index);
  });
  LocksetNames names;
  for (const auto& [shard, i] : order) {
    Analysis& part = shards[shard];
    RaceRecord& race = merged.races.emplace_back(part.races[i]);
    race.access.locks = names.NameOf(part.locksets[Raw(race.access.locks)]);
    for (uint32_t j = 0; j < race.earlier_count; ++j) {
      race.earlier[j].locks = names.NameOf(part.locksets[Raw(race.earlier[j].locks)]);
    }
    if (!part.recorded.empty()) merged.recorded.push_back(std::move(part.recorded[i]));
  }
  merged.locksets = names.Take();
  if (!merged.recorded.empty()) KeepFirst(merged);
  return merged;
}

}  // namespace redflag
