// Analysis: one trace seen through one detector, and the list of detectors there are. Everything outside
// offline/ that runs a detector by name goes through this file; the replay templates stay behind it.
//
// Host side; calls are independent of each other.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "clocks/lockset.h"
#include "events/race_record.h"
#include "trace/trace.h"

namespace redflag {

struct RuleCount {
  const char* name;
  const char* tag;
  uint64_t count;
};

struct Analysis {
  std::string detector;
  std::vector<RaceRecord> races;                // in order of the completing event
  std::vector<std::vector<HeldLock>> locksets;  // by LocksetId; filled for ids that `races` name
  std::vector<RuleCount> rules;
  uint64_t events = 0;
  size_t memory = 0;  // bytes of detector state at the end
};

// Called now and then with the number of events done.
using Progress = std::function<void(uint64_t)>;

struct DetectorInfo {
  const char* name;
  const char* summary;
  const char* why_more;  // why it may report what a precise detector does not; empty: it does not
  const char* why_less;  // why it may be silent where a precise detector reports; empty: it is not
  bool reports;          // false: counts only
  Claim claim;           // what it says of the accesses that it reports
  Analysis (*analyze)(const Trace&, const Progress&);
};

// In the order of src/detectors/list.def; the first is the default.
std::span<const DetectorInfo> Detectors();

// Null if there is none of that name.
const DetectorInfo* FindDetector(std::string_view name);

}  // namespace redflag
