// RaceReport: a race in words and names, ready to be rendered. What produced it (a trace, a running program)
// has resolved every id; the renderers (report/text.h, report/json.h) only choose a form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "events/access.h"
#include "events/event.h"
#include "events/race_record.h"

namespace redflag {

// A place in the source, in the code of a program, or both. What is empty is not known.
struct Frame {
  std::string function;
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;   // 0: not known
  std::string module{};  // the file that holds the code; empty and no source either: `offset` is an address
  uint64_t offset = 0;   // in it: the return address, as `redflag symbolize` wants it
  bool inlined = false;  // into the next frame
  std::string called{};  // the function of another library that it called here; empty: none, or not known
  // Without function and source: what tells this function from others of the file, for as long as that is not built anew; empty: not known.
  std::string unnamed{};
};

struct HeldLockInfo {
  std::string name;
  LockMode mode{};
  std::vector<Frame> taken_at;   // innermost first; empty: not known
  Addr addr{};                   // 0: not known
  std::vector<Frame> made_at{};  // or first used; empty: not known
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
  bool locks_known = true;
  bool stack_truncated = false;  // outer frames are missing
  bool vptr = false;             // the bytes are a pointer to a virtual table
  bool bit_field = false;
  bool ordered = false;     // an earlier one, a free, comes before the other in any case: what that uses was freed
  bool descriptor = false;  // what is used (read) or closed (written) is a descriptor of a file
  std::optional<uint64_t> value{};  // what the memory held after the access
};

struct ThreadInfo {
  std::string name;
  std::string title;    // the name that the program gave it; may be empty
  std::string creator;  // empty: exists from the start
  std::vector<Frame> created_at;
  uint32_t os_id = 0;  // as the system numbers it; 0: not known
  bool finished = false;
};

// What the racy bytes belong to.
struct RacyBlock {
  enum class Place : uint8_t { kHeap, kStack, kThreadLocal, kGlobal, kMapped, kDescriptor };

  Place place{};
  Addr begin{};
  uint64_t size = 0;   // 0: not known
  std::string thread;  // who allocated it, or whose it is; may be empty
  bool freed = false;
  std::vector<Frame> allocated_at;
  std::string module;  // of a global variable
  uint64_t module_offset = 0;
  std::string function{};            // of a stack: whose frame it is in, or whose variable; empty: not known
  std::vector<Frame> declared_at{};  // of a variable on a stack: a file and a line; may be empty
  bool parameter = false;            // it is one of the function
};

// What is thought of a race, from what was observed of it.
struct Judgement {
  enum class Rank : uint8_t { kHigh, kMedium, kLow };

  Rank rank = Rank::kMedium;
  std::string pattern;               // "double-checked locking", say; empty: none that is known
  std::string suggestion;            // in one line; may be empty
  std::vector<std::string> reasons;  // of the rank, the weightiest first
};

struct RaceReport {
  std::string detector;
  Claim claim = Claim::kUnordered;  // of the detector
  std::string variable;             // the name of what holds the bytes; empty: not known
  uint64_t offset = 0;              // of the first racy byte in it
  Addr addr{};                      // the racy bytes: from the first ...
  uint64_t size = 0;                // ... to the last
  AccessSite access;                // the one that completed the race
  std::vector<AccessSite> earlier;
  uint64_t earlier_omitted = 0;     // found, and not kept
  std::vector<ThreadInfo> threads;  // that the accesses name
  std::string why;
  std::vector<std::string> evidence{};  // what else was observed (report/evidence.h)
  uint64_t event = 0;                   // in the trace
  std::string trace;                    // its name
  uint32_t trace_line = 0;
  std::optional<RacyBlock> block{};
  std::string command{};  // of a running program, in place of a trace
  uint32_t pid = 0;
  std::vector<std::string> notes{};  // what limits this report
  std::string fingerprint{};         // the same for this race after the program was changed elsewhere; empty: not made
  std::optional<Judgement> judgement{};
  uint64_t repeated = 0;                    // how often it was found again, on other objects too
  std::vector<std::string> confirmed_by{};  // other detectors, and warnings of other tools
};

// The thread of an access that nobody is known for: only the value told of it.
inline constexpr std::string_view kUnknownWriter = "an unknown writer";

// Do they hold a lock that cannot be held by both at the same time?
bool HoldsExcluding(const AccessSite& a, const AccessSite& b);

// Is it no race, but memory that is used after it was freed, in this order?
bool IsUseAfterFree(const RaceReport& report);

// Phrases that all renderers share: "atomic write", "transactional read", "free".
std::string Describe(const AccessSite& site);

// "high", "medium" or "low".
const char* RankName(Judgement::Rank rank);

// How grave it is in the words of tools that know three levels: "error", "warning", and what they call the lowest.
std::string_view LevelOf(const RaceReport& report, std::string_view lowest);

// The variable, as far as it is known, else the bytes: "counter+8", "4 bytes at 0x1000".
std::string DescribeTarget(const RaceReport& report);

// Why the accesses of the report race: only what was observed.
std::string ExplainRace(const RaceReport& report);

}  // namespace redflag
