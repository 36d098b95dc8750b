// RaceReport: a race in words and names, ready to be rendered. What produced it (a trace, a running program)
// has resolved every id; the renderers (report/text.h, report/json.h) only choose a form.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "events/access.h"
#include "events/event.h"

namespace redflag {

// A place in the source. `function` may be empty: not known.
struct Frame {
  std::string function;
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;  // 0: not known
};

struct HeldLockInfo {
  std::string name;
  LockMode mode{};
  std::vector<Frame> taken_at;  // innermost first; empty: not known
};

// One access of a race.
struct AccessSite {
  std::string thread;
  AccessKind kind{};
  AccessOrigin origin{};
  Addr addr{};
  uint64_t size = 0;
  std::vector<Frame> stack;  // innermost first
  std::vector<HeldLockInfo> locks;
};

struct ThreadInfo {
  std::string name;
  std::string title;    // the name that the program gave it; may be empty
  std::string creator;  // empty: exists from the start
  std::vector<Frame> created_at;
};

struct RaceReport {
  std::string detector;
  std::string variable;  // the name of what holds the bytes; empty: not known
  uint64_t offset = 0;   // of the first racy byte in it
  Addr addr{};           // the racy bytes: from the first ...
  uint64_t size = 0;     // ... to the last
  AccessSite access;     // the one that completed the race
  std::vector<AccessSite> earlier;
  uint64_t earlier_omitted = 0;     // found, and not kept
  std::vector<ThreadInfo> threads;  // that the accesses name
  std::string why;
  uint64_t event = 0;  // in the trace
  std::string trace;   // its name
  uint32_t trace_line = 0;
};

// Phrases that all renderers share: "atomic write", "transactional read", "free".
std::string Describe(const AccessSite& site);

// Why the accesses of the report race: only what was observed.
std::string ExplainRace(const RaceReport& report);

}  // namespace redflag
