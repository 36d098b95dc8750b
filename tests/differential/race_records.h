// What the records of a detector say, for detectors that are held against a transcription of their paper: where they report,
// whether the other side they name is one that can be meant, and which report of a byte is the first of its lifetime.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "events/race_record.h"
#include "offline/replay.h"
#include "trace/trace.h"

namespace redflag {

template <class D>
std::vector<RaceRecord> RecordsOf(const Trace& trace) {
  Replay<D> replay(trace.initial_threads);
  for (const NamedRange& range : trace.ranges) {
    if (range.first_event == 0) replay.DeclareVariable(range.addr, range.size);
  }
  for (uint64_t i = 0; i < trace.events.size(); ++i) replay.Step(trace.events[i], i);
  return replay.races();
}

// Calls visit(byte, mask) for every byte that the record is about; mask picks it in a granule.
template <class Visitor>
void ForEachByteOf(const RaceRecord& race, Visitor visit) {
  for (uint64_t offset = 0; offset < race.granules * kGranule; ++offset) {
    const ByteMask mask = ByteMask(static_cast<uint8_t>(1u << offset % kGranule));
    if (Any(race.bytes & mask)) visit(Raw(race.granule) + offset, mask);
  }
}

// (event, byte) of every report. Complains about a byte that one event reports twice.
inline std::set<std::pair<uint64_t, uint64_t>> PlacesOf(const std::vector<RaceRecord>& races, std::string& complaint) {
  std::set<std::pair<uint64_t, uint64_t>> places;
  for (const RaceRecord& race : races) {
    ForEachByteOf(race, [&](uint64_t byte, ByteMask) {
      if (!places.insert({race.event, byte}).second) complaint += "a byte is reported twice by one event; ";
    });
  }
  return places;
}

inline bool Covers(const Event& event, uint64_t byte) {
  return byte >= Raw(event.addr) && byte - Raw(event.addr) < event.size;
}

// How many lifetimes of the byte have begun before the event. A free belongs to the lifetime it ends.
inline uint64_t LifetimeAt(const Trace& trace, uint64_t event, uint64_t byte) {
  uint64_t lifetime = 0;
  for (uint64_t i = 0; i < event; ++i) {
    const EventKind kind = trace.events[i].kind;
    const bool begins = kind == EventKind::kAlloc || kind == EventKind::kFree || kind == EventKind::kNewMemory ||
                        kind == EventKind::kUnpublish || kind == EventKind::kForget;
    lifetime += begins && Covers(trace.events[i], byte);
  }
  return lifetime;
}

// By byte and lifetime: the event of the first report.
using FirstReports = std::map<std::pair<uint64_t, uint64_t>, uint64_t>;

inline FirstReports FirstReportsOf(const Trace& trace, const std::set<std::pair<uint64_t, uint64_t>>& places) {
  FirstReports first;
  for (const auto& [event, byte] : places) first.try_emplace({byte, LifetimeAt(trace, event, byte)}, event);
  return first;
}

// Does the event touch the byte by a plain access? A commit does if its footprint, right before it in its thread, does.
inline bool Touches(const Trace& trace, uint64_t index, uint64_t byte) {
  const Event& event = trace.events[index];
  if (event.kind != EventKind::kTxCommit) {
    const bool plain =
        event.kind == EventKind::kRead || event.kind == EventKind::kWrite || event.kind == EventKind::kFree;
    return plain && Covers(event, byte);
  }
  for (uint64_t i = index; i-- > 0;) {
    const Event& part = trace.events[i];
    if (part.thread != event.thread) continue;
    if (part.kind != EventKind::kTxRead && part.kind != EventKind::kTxWrite) break;
    if (Covers(part, byte)) return true;
  }
  return false;
}

// Every byte of a record has another side: a plain access to that byte by another thread, earlier in the same lifetime.
inline std::string CheckOtherSides(const Trace& trace, const std::vector<RaceRecord>& races) {
  std::ostringstream out;
  for (const RaceRecord& race : races) {
    if (trace.events[race.event].thread != race.access.thread) out << "the access is given to the wrong thread; ";
    ForEachByteOf(race, [&](uint64_t byte, ByteMask mask) {
      bool named = false;
      for (uint32_t i = 0; i < race.earlier_count; ++i) {
        const AccessRecord& earlier = race.earlier[i];
        if (!Any(earlier.bytes & mask)) continue;
        named = true;
        const uint64_t event = Raw(earlier.context);
        const bool right = event < race.event && trace.events[event].thread == earlier.thread &&
                           earlier.thread != race.access.thread && Touches(trace, event, byte) &&
                           LifetimeAt(trace, event, byte) == LifetimeAt(trace, race.event, byte);
        if (!right) out << "event " << event << " cannot be the other side of event " << race.event << "; ";
      }
      if (!named) out << "event " << race.event << " has no other side; ";
    });
  }
  return out.str();
}

inline std::string Difference(const std::set<std::pair<uint64_t, uint64_t>>& detector,
                              const std::set<std::pair<uint64_t, uint64_t>>& reference, const std::string& what) {
  std::ostringstream out;
  for (const auto& [event, byte] : reference) {
    if (!detector.contains({event, byte}))
      out << what << " misses event " << event << " byte " << std::hex << byte << std::dec << "; ";
  }
  for (const auto& [event, byte] : detector) {
    if (!reference.contains({event, byte}))
      out << what << " invents event " << event << " byte " << std::hex << byte << std::dec << "; ";
  }
  return out.str();
}

// Whatever `few` reports first, `many` has reported for that byte and lifetime, not later.
inline std::string CheckNoLater(const FirstReports& few, const FirstReports& many, const std::string& what) {
  std::ostringstream out;
  for (const auto& [where, event] : few) {
    const auto it = many.find(where);
    if (it == many.end() || it->second > event) out << what << ": not so at event " << event << "; ";
  }
  return out.str();
}

inline std::optional<std::string> NothingOr(const std::string& complaint) {
  if (complaint.empty()) return std::nullopt;
  return complaint;
}

}  // namespace redflag
