// Eraser (Savage et al. 1997), transcribed: a state and a set of locks for each byte. Slow and obvious; tests
// only. Shares nothing with src/detectors/lockset.h.
//
// Where the paper is silent, and what the detector does too:
// - Memory is Virgin again when a lifetime begins, whoever begins it.
// - A free writes, but is not asked for locks: it leaves C(v) as it is.
// - Atomic accesses are not looked at (RaceTrack 3.4). The accesses of a transaction hold one more lock, TL.
// - After its first report a variable is left alone until its next lifetime.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "tests/differential/reference_walk.h"
#include "trace/trace.h"

namespace redflag {

class LocksetReference : private ReferenceWalk {
 public:
  using Report = std::pair<uint64_t, uint64_t>;  // event, byte

  explicit LocksetReference(const Trace& trace) : ReferenceWalk(trace) {}

  std::set<Report> Run() {
    Walk();
    return reports_;
  }

 private:
  enum class State { kVirgin, kExclusive, kShared, kSharedModified };

  struct Variable {
    State state = State::kVirgin;
    uint32_t first_thread = 0;
    bool all_locks = true;  // C(v) is the set of all locks
    Locks c;
    bool reported = false;
  };

  void OnTouch(const WordAccess& access) override {
    for (const uint64_t byte : access.bytes) {
      Variable& v = variables_[byte];
      if (v.reported) continue;
      Move(v, access);
      const bool in_shared = v.state == State::kShared || v.state == State::kSharedModified;
      if (in_shared && !access.frees) Refine(v, access.locks);
      if (v.state == State::kSharedModified && !v.all_locks && v.c.empty()) {
        v.reported = true;
        reports_.insert({access.event, byte});
      }
    }
  }
  void OnNewLife(uint64_t begin, uint64_t end) override {
    for (uint64_t byte = begin; byte < end; ++byte) variables_.erase(byte);
  }

  // The state diagram.
  static void Move(Variable& v, const WordAccess& access) {
    switch (v.state) {
      case State::kVirgin:
        v.state = State::kExclusive;
        v.first_thread = access.thread;
        break;
      case State::kExclusive:
        if (access.thread == v.first_thread) break;
        v.state = access.writes ? State::kSharedModified : State::kShared;
        break;
      case State::kShared:
        if (access.writes) v.state = State::kSharedModified;
        break;
      case State::kSharedModified:
        break;
    }
  }

  // C(v) := C(v) intersected with locks_held(t), from the first access in a shared state on.
  static void Refine(Variable& v, const Locks& held) {
    if (v.all_locks) {
      v.c = held;
    } else {
      Locks both;
      std::set_intersection(v.c.begin(), v.c.end(), held.begin(), held.end(), std::inserter(both, both.end()));
      v.c = both;
    }
    v.all_locks = false;
  }

  std::map<uint64_t, Variable> variables_;  // by byte
  std::set<Report> reports_;
};

}  // namespace redflag
