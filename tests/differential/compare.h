// Holds a precise detector against the oracle on one trace. Agreement means, for every byte and lifetime: the
// detector reports exactly where the oracle finds the first race; every earlier access it names does race;
// and for every racing access that no other racing access comes after it names one of the same thread. (An
// access may stand for older ones that are ordered before it, and for repetitions by the same thread in the
// same segment: the filter drops those.)
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "offline/replay.h"
#include "tests/differential/oracle.h"
#include "trace/trace.h"

namespace redflag {

// Where a race is: the event that completes it, and the byte.
using RacePlace = std::pair<uint64_t, uint64_t>;

struct Reported {
  std::set<uint64_t> earlier;
  bool complete = true;  // false: the record had no room for all of them
};

template <class D>
std::map<RacePlace, Reported> ReportedRaces(const Trace& trace, std::string& complaint) {
  std::map<RacePlace, Reported> places;
  Replay<D> replay(trace.initial_threads);
  for (uint64_t i = 0; i < trace.events.size(); ++i) replay.Step(trace.events[i], i);
  for (const RaceRecord& race : replay.races()) {
    for (uint64_t offset = 0; offset < race.granules * kGranule; ++offset) {
      if ((Raw(race.bytes) >> offset % kGranule & 1) == 0) continue;
      const RacePlace place{race.event, Raw(race.granule) + offset};
      auto [it, is_new] = places.try_emplace(place);
      if (!is_new) complaint = "a byte is reported twice by one event";
      it->second.complete = race.earlier_total == race.earlier_count;
      for (uint32_t i = 0; i < race.earlier_count; ++i) {
        if ((Raw(race.earlier[i].bytes) >> offset % kGranule & 1) == 0) continue;
        const uint64_t event = Raw(race.earlier[i].context);
        it->second.earlier.insert(event);
        if (trace.events[event].thread != race.earlier[i].thread)
          complaint = "an earlier access is given to the wrong thread";
      }
      if (trace.events[race.event].thread != race.access.thread) complaint = "the access is given to the wrong thread";
    }
  }
  return places;
}

// What is wrong, or nothing.
template <class D, oracle::CommitArcs kCommits = oracle::CommitArcs::kCommon>
std::optional<std::string> FindDisagreement(const Trace& trace) {
  std::string complaint;
  std::map<RacePlace, Reported> reported = ReportedRaces<D>(trace, complaint);
  std::ostringstream out;
  if (!complaint.empty()) out << complaint << "; ";
  for (const oracle::FirstRace& truth : oracle::FindRaces(trace, kCommits)) {
    const auto it = reported.find({truth.event, truth.byte});
    if (it == reported.end()) {
      out << "missed: event " << truth.event << " byte " << std::hex << truth.byte << std::dec << "; ";
      continue;
    }
    const std::set<uint64_t> all(truth.earlier.begin(), truth.earlier.end());
    for (const uint64_t event : it->second.earlier) {
      if (!all.contains(event)) out << "event " << event << " is said to race with " << truth.event << "; ";
    }
    for (const uint64_t event : truth.maximal) {
      const auto same_thread = [&](uint64_t other) { return trace.events[other].thread == trace.events[event].thread; };
      if (it->second.complete && std::ranges::none_of(it->second.earlier, same_thread)) {
        out << "nothing stands for event " << event << ", which races with " << truth.event << "; ";
      }
    }
    reported.erase(it);
  }
  for (const auto& [place, what] : reported) {
    out << "false alarm: event " << place.first << " byte " << std::hex << place.second << std::dec << "; ";
  }
  if (out.str().empty()) return std::nullopt;
  return out.str();
}

// A detector to whom reads alone order transactions.
template <class D>
class ByReads : public D {
 public:
  ByReads() { D::OrderByReads(); }
};

}  // namespace redflag
