// Holds the reports of a detector, as (event, byte), against those of a transcription of its paper.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "offline/replay.h"
#include "trace/trace.h"

namespace redflag {

using ReportSet = std::set<std::pair<uint64_t, uint64_t>>;

template <class D>
ReportSet ReportsOf(const Trace& trace) {
  Replay<D> replay(trace.initial_threads);
  for (const NamedRange& range : trace.ranges) {
    if (range.first_event == 0) replay.DeclareVariable(range.addr, range.size);
  }
  for (uint64_t i = 0; i < trace.events.size(); ++i) replay.Step(trace.events[i], i);
  ReportSet reports;
  for (const RaceRecord& race : replay.races()) {
    for (uint64_t offset = 0; offset < race.granules * kGranule; ++offset) {
      if ((Raw(race.bytes) >> offset % kGranule & 1) != 0) reports.insert({race.event, Raw(race.granule) + offset});
    }
  }
  return reports;
}

inline std::optional<std::string> Difference(const ReportSet& detector, const ReportSet& reference) {
  std::ostringstream out;
  for (const auto& report : reference) {
    if (!detector.contains(report))
      out << "missed: event " << report.first << " byte " << std::hex << report.second << std::dec << "; ";
  }
  for (const auto& report : detector) {
    if (!reference.contains(report))
      out << "too much: event " << report.first << " byte " << std::hex << report.second << std::dec << "; ";
  }
  if (out.str().empty()) return std::nullopt;
  return out.str();
}

}  // namespace redflag
