// A trace in memory: the events, and the names behind their ids. Produced by a reader (trace/text_reader.h)
// or a generator, consumed by offline/replay.h and the renderers. Host side: ordinary C++.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "events/event.h"

namespace redflag {

struct SourcePosition {
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;  // 0: not known
};

enum class SyncKind : uint8_t { kLock, kSignal, kCondition, kSemaphore, kBarrier };

struct NamedSync {
  std::string name;
  SyncKind kind = SyncKind::kLock;
};

// A name for a range of addresses, from the event on that introduced it (an `alloc` may reuse addresses).
struct NamedRange {
  std::string name;
  Addr addr{};
  uint64_t size = 0;
  uint64_t first_event = 0;
};

// What the author of a trace says a detector must do at one event.
struct Expectation {
  enum class Verdict : uint8_t {
    kRace,    // reports a race completed by this event
    kNoRace,  // stays silent at this event
    kMiss,    // stays silent although the race is real; `reason` says why, with the paper's section
  };
  Verdict verdict = Verdict::kRace;
  uint64_t event = 0;
  std::vector<std::string> detectors;  // empty: every detector
  std::string reason;
  uint32_t line = 0;
};

struct Trace {
  std::string name;  // file name, for messages
  std::vector<Event> events;
  std::vector<uint32_t> lines;  // lines[i]: the line of the trace file that events[i] stands on

  std::vector<std::string> threads;  // by Tid
  std::vector<NamedSync> syncs;      // by SyncId
  std::vector<SourcePosition> positions;
  std::vector<std::string> functions;
  std::vector<std::string> texts;
  std::vector<NamedRange> ranges;    // in order of first_event
  std::vector<Tid> initial_threads;  // exist from the start, ordered with nobody; others are forked
  std::vector<Expectation> expectations;
};

}  // namespace redflag
