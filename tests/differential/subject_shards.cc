// Shards of a trace find together what one engine finds alone: the same races in the same order, with the same locks, and as many
// applications of each rule that does not count work.
#include <algorithm>
#include <cstring>
#include <optional>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "base/mem.h"
#include "detectors/all.h"
#include "offline/race_order.h"
#include "offline/replay.h"
#include "tests/differential/subject.h"

namespace redflag {
namespace {

// What must be equal of a record: sets of locks by what is in them.
struct Finding {
  RaceRecord race;
  std::vector<std::vector<HeldLock>> locks;  // of the access, then of the earlier ones

  bool operator==(const Finding& other) const {
    return std::memcmp(&race, &other.race, sizeof race) == 0 && locks == other.locks;
  }
};

template <class D>
struct Findings {
  std::vector<Finding> races;
  typename Replay<D>::Counts counts{};

  void Add(const Trace& trace, Shard shard) {
    Replay<D> replay(trace.initial_threads, {.shard = shard});
    for (const NamedRange& range : trace.ranges) {
      if (range.first_event == 0) replay.DeclareVariable(range.addr, range.size);
    }
    for (uint64_t i = 0; i < trace.events.size(); ++i) replay.Step(trace.events[i], i);
    for (const RaceRecord& race : replay.races()) races.push_back(FindingOf(replay, race));
    const auto more = replay.TotalCounts();
    for (size_t i = 0; i < counts.size(); ++i) counts[i] += more[i];
  }

 private:
  static Finding FindingOf(Replay<D>& replay, const RaceRecord& race) {
    Finding finding{.race = race, .locks = {}};
    const auto take = [&](AccessRecord& access) {
      auto& locks = finding.locks.emplace_back();
      for (const HeldLock lock : replay.detector().locksets().View(access.locks)) locks.push_back(lock);
      access.locks = kEmptyLockset;
    };
    take(finding.race.access);
    for (uint32_t i = 0; i < race.earlier_count; ++i) take(finding.race.earlier[i]);
    std::fill(finding.race.earlier + race.earlier_count, finding.race.earlier + RaceRecord::kMaxEarlier,
              AccessRecord{});
    return finding;
  }
};

template <class D>
constexpr bool IsComparable(size_t rule) {
  if constexpr (requires { D::IsEffort(rule); }) return !D::IsEffort(rule);
  return true;
}

template <class D>
std::optional<std::string> CompareShards(const Trace& trace) {
  Findings<D> whole;
  whole.Add(trace, {});
  for (const uint32_t count : {2u, 3u}) {
    Findings<D> parts;
    for (uint32_t index = 0; index < count; ++index) parts.Add(trace, {.index = index, .count = count});
    std::sort(parts.races.begin(), parts.races.end(),
              [](const Finding& a, const Finding& b) { return ComesBefore(a.race, b.race); });
    std::ostringstream out;
    if (parts.races != whole.races) {
      out << count << " shards: " << parts.races.size() << " races instead of " << whole.races.size() << "; ";
    }
    for (size_t i = 0; i < whole.counts.size(); ++i) {
      if (!IsComparable<D>(i) || parts.counts[i] == whole.counts[i]) continue;
      out << count << " shards: '" << D::kRules[i].name << "' " << parts.counts[i] << " times instead of "
          << whole.counts[i] << "; ";
    }
    if (!out.str().empty()) return out.str();
  }
  return std::nullopt;
}

#define REDFLAG_DETECTOR(Class, name) \
  const RegisterSubject kShardsOf##Class{#name "-shards", CompareShards<Class<PlainMem>>};
#include "detectors/list.inc"
#undef REDFLAG_DETECTOR

}  // namespace
}  // namespace redflag
