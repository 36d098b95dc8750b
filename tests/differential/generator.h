// Random traces for the differential tests: well-formed, mostly well-synchronized, often with a mistake or
// two.
//
// Each thread plays small scripts (a critical section, a message passed through an atomic, a transaction,
// ...) that a scheduler interleaves. The generator keeps book of which thread may touch which variable,
// handed on by every kind of synchronization, so that without mistakes a trace has no race at all; a mistake
// (a relaxed order, a forgotten lock, a byte too many, ...) then usually makes few bytes racy, in one place.
//
// The same seed and options give the same trace on every platform.
#pragma once

#include <cstdint>

#include "trace/trace.h"

namespace redflag {

// What a trace may contain beside plain accesses, exclusive locks, fork and join.
enum Feature : uint32_t {
  kAtomics = 1u << 0,  // loads, stores, read-modify-writes of every order
  kFences = 1u << 1,   // with kAtomics
  kRwlocks = 1u << 2,  // shared locking
  kSignals = 1u << 3,  // signal/wait, condition variables
  kBarriers = 1u << 4,
  kSemaphores = 1u << 5,
  kAllocFree = 1u << 6,  // heap blocks; reference counts, with kAtomics
  kTransactions = 1u << 7,
  kAnnotations = 1u << 8,  // ignore, benign, publish, unpublish, new memory, lock create and destroy, names, ...
  kMixedSizes = 1u << 9,   // unaligned accesses of 1..16 bytes that overlap; else whole aligned words
};
inline constexpr uint32_t kAllFeatures = (1u << 10) - 1;

struct GeneratorOptions {
  // A trace ends after a number of events drawn from here, plus the few that close what is open.
  uint32_t min_events = 50;
  uint32_t max_events = 120;
  // Threads alive at one time, at most 8; in all there may be 12.
  uint32_t min_threads = 2;
  uint32_t max_threads = 8;
  // Variables beside heap blocks, at most 24.
  uint32_t min_variables = 4;
  uint32_t max_variables = 12;

  uint32_t features = kAllFeatures;
  // A trace uses each of `features` with even chances, so that it is about few things; else all of them.
  bool vary_features = true;

  // Chances of a mistake wherever one is possible, in 1/1024; 0: a trace without races. By default it is
  // drawn for each trace, and 0 for one in four.
  static constexpr uint32_t kDrawn = UINT32_MAX;
  uint32_t mistakes = kDrawn;
};

Trace Generate(uint64_t seed, const GeneratorOptions& options = {});

}  // namespace redflag
