// The oracle: which bytes of a trace race, straight from the definitions.
//
// It is the yardstick of the differential tests, so it shares nothing with the detectors: no clocks, no
// shadow cells, no access lattice. It builds the happens-before relation of a trace as a matrix of bits over
// events, closes it, and compares every pair of accesses. Quadratic in time and space; meant for traces of
// some hundred events. Each rule in oracle.cc names the paragraph of C++20 or the section of the paper that
// it restates.
//
// It expects a well-formed trace (a lock is free when it is taken, nobody acts before its fork, ...).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/trace.h"

namespace redflag::oracle {

// The first race of one byte in one of its lifetimes. What happens to the byte afterwards, until its next
// lifetime, is not looked at. An access of a transaction is named by the index of its kTxCommit.
struct FirstRace {
  uint64_t byte = 0;              // the address
  uint64_t event = 0;             // the first access that races with an earlier one
  std::vector<uint64_t> earlier;  // every earlier access that it races with, ascending
  std::vector<uint64_t> maximal;  // those of `earlier` that do not happen before another of `earlier`

  bool operator==(const FirstRace&) const = default;
};

// Which commits are ordered (Goldilocks 3, and its end): that have a byte in common, or one of which reads what the other has written.
enum class CommitArcs { kCommon, kReads };

// Sorted by (event, byte).
std::vector<FirstRace> FindRaces(const Trace& trace, CommitArcs commits = CommitArcs::kCommon);

// An access to bytes that all events of the trace treat alike, for transcriptions of the papers' algorithms.
struct ByteAccess {
  uint64_t begin = 0;  // the bytes [begin, end)
  uint64_t end = 0;
  uint64_t lifetime = 0;  // of these bytes: how many have begun before
  uint64_t event = 0;
  bool writes = false;
  bool atomic = false;
  bool benign = false;  // no report is wanted
  bool birth = false;   // the write that begins the lifetime
};

// In the order of the trace, without those that the program asks to ignore.
std::vector<ByteAccess> AccessesOf(const Trace& trace);

// Which locks order the critical sections they guard: all (TSan 4.4.1), or only those that are annotated to
// (TSan 5, ANNOTATE_PURE_HAPPENS_BEFORE_MUTEX) when they are taken or released.
enum class LockArcs { kAll, kAnnotated };

class Memory;  // which event touches which byte in which lifetime; see oracle.cc

// The happens-before relation over the events of a trace, named by their indices.
class HappensBefore {
 public:
  explicit HappensBefore(const Trace& trace, LockArcs locks = LockArcs::kAll);
  HappensBefore(const Trace& trace, const Memory& memory, LockArcs locks = LockArcs::kAll,
                CommitArcs commits = CommitArcs::kCommon);

  // Event a happens before event b. Irreflexive; every arc points forward in the trace.
  bool Ordered(size_t a, size_t b) const { return a < b && (rows_[b * words_ + a / 64] >> (a % 64) & 1) != 0; }

 private:
  using Events = std::vector<Event>;

  void AddArc(size_t a, size_t b) { rows_[b * words_ + a / 64] |= uint64_t{1} << (a % 64); }
  void AddThreads(const Events& events);
  void AddLocks(const Events& events, LockArcs locks);
  void AddSignals(const Events& events, LockArcs locks);
  void AddBarriers(const Events& events);
  void AddAtomics(const Events& events, const Memory& memory);
  void AddTransactions(const Memory& memory, CommitArcs commits);
  void AddPublications(const Memory& memory);
  void Close(size_t events);

  size_t words_;
  std::vector<uint64_t> rows_;  // bit a of row b: a happens before b
};

}  // namespace redflag::oracle
