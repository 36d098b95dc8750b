// Analysis: one trace seen through one detector, and the list of detectors there are. Everything outside
// offline/ that runs a detector by name goes through this file; the replay templates stay behind it.
//
// Host side; calls are independent of each other.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "clocks/lockset.h"
#include "events/race_record.h"
#include "trace/event_stream.h"
#include "trace/shard.h"
#include "trace/trace.h"

namespace redflag {

struct RuleCount {
  std::string name;
  std::string tag;
  uint64_t count;
  bool is_effort = false;  // of work, which shards do differently (trace/shard.h)
};

// What is known of a race of a recording beside its RaceRecord.
struct RecordedRace {
  struct Lock {
    Addr addr{};
    LockMode mode{};
    ContextId taken_at = kNoContext;  // kNoContext: not known

    bool operator==(const Lock&) const = default;
  };
  struct Block {
    Addr begin{};
    uint64_t size = 0;
    Tid thread{};
    ContextId allocated_at = kNoContext;

    bool operator==(const Block&) const = default;
  };

  Addr addr{};  // of the access that completed it
  uint64_t size = 0;
  std::optional<Block> block;  // of the heap, that the racy bytes are in
  std::vector<std::vector<Lock>>
      locks;           // held at the access, then at the earlier ones; in the order in which they were taken
  uint64_t count = 1;  // races that look the same: only the first is kept

  bool operator==(const RecordedRace&) const = default;
};

struct RecordedFork {
  Tid creator{};
  ContextId context = kNoContext;

  bool operator==(const RecordedFork&) const = default;
};

// Where the races that were told while the program ran and those of the analysis differ.
struct Verification {
  static constexpr size_t kMaxExamples = 10;

  struct Example {
    uint64_t event = 0;
    bool online = false;  // told, and not found; or found, and not told
    Tid thread{};
    Addr granule{};
    ByteMask bytes{};
    ContextId context = kNoContext;

    bool operator==(const Example&) const = default;
  };

  uint64_t same = 0;
  uint64_t only_online = 0;
  uint64_t only_offline = 0;
  std::vector<Example> examples;  // the first ones, in order of events

  bool operator==(const Verification&) const = default;
};

struct Analysis {
  std::string detector;
  std::vector<RaceRecord> races;                // in order (offline/race_order.h)
  std::vector<std::vector<HeldLock>> locksets;  // by LocksetId; filled for ids that `races` name
  std::vector<RuleCount> rules;
  uint64_t events = 0;
  size_t memory = 0;  // bytes of detector state at the end; of shards, the sum
  std::string error;  // why there is no more; empty: it is all there

  // Of a recording.
  uint64_t races_found = 0;                      // those that are not kept included
  std::vector<RecordedRace> recorded;            // as `races`
  std::map<uint32_t, RecordedContext> contexts;  // that the rest of this names
  std::map<Tid, RecordedFork> forks;             // of threads that races name, and of their creators
  Verification verification;
};

// Called now and then with the number of events done since the last call.
using Progress = std::function<void(uint64_t)>;

struct AnalysisOptions {
  Shard shard{};
  bool recorded =
      false;  // the source is a recording: contexts are recorded ones, and of races that look the same one is kept
  bool verify = false;  // hold races against the kTold events; recordings only
  Progress progress{};
};

struct DetectorInfo {
  const char* name;
  const char* summary;
  const char* why_more;  // why it may report what a precise detector does not; empty: it does not
  const char* why_less;  // why it may be silent where a precise detector reports; empty: it is not
  bool reports;          // false: counts only
  Claim claim;           // what it says of the accesses that it reports
  bool by_object;        // cells stand for objects
  Analysis (*run)(const EventSource&, const AnalysisOptions&);

  bool is_precise() const { return *why_more == '\0' && *why_less == '\0'; }

  // A trace in memory, all of it.
  Analysis analyze(const Trace& trace, const Progress& progress) const;
};

// In the order of src/detectors/list.def; the first is the default.
std::span<const DetectorInfo> Detectors();

// Null if there is none of that name.
const DetectorInfo* FindDetector(std::string_view name);

// The same as detector.run(source, options), whose shard is ignored, on so many threads. `progress` is called by one of them, with the number of events that it
// has come to, which stands for all of them.
Analysis AnalyzeInParallel(const DetectorInfo& detector, const EventSource& source, AnalysisOptions options,
                           uint32_t jobs);

// The analyses of all shards of a trace, put together. Identifiers of sets of locks are new.
Analysis MergeShards(std::vector<Analysis> shards);

}  // namespace redflag
