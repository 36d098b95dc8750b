// RaceTrack's state machine (RT 2.4.1, Figure 4): how one access moves the state of one object or field. Drawn in
// docs/algorithms/racetrack.md. It knows neither objects nor reports: racetrack.h runs it for objects first and then for
// fields (RT 2.4.2).
//
// The caller holds the lock of whatever the state belongs to.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "clocks/epoch.h"
#include "clocks/lockset.h"
#include "detectors/racetrack_rules.h"
#include "detectors/racetrack_state.h"
#include "detectors/racetrack_threadset.h"

namespace redflag {

inline const Threadset* ThreadsetOf(const TrackState& x) { return static_cast<const Threadset*>(x.threadset()); }

// t:Rd(x) or t:Wr(x).
struct TrackedAccess {
  Tid thread;
  Epoch label;          // <t, B_t(t)>
  PackedLockset locks;  // L_t, those that count for this kind of access
  bool writes;
};

template <class Mem>
class RaceTrackMachine {
 public:
  RaceTrackMachine(const RaceTrackOptions& options, LocksetTable<Mem>& locksets, ThreadsetTable<Mem>& threadsets)
      : options_(options), locksets_(locksets), threadsets_(threadsets) {}

  // knows(label) asks B_t; `counts` is indexed by rule. True: Report-Race is reached; x is the caller's to overwrite.
  template <class Knows>
  bool Step(TrackState& x, const TrackedAccess& a, uint64_t* counts, Knows knows) {
    switch (x.phase()) {
      case Phase::kVirgin:
        if (options_.threadset && !options_.adaptive_threadset) return EnterExclusive2(x, a, counts[kV_E2]);
        ++counts[kV_E0];
        x = TrackState::Exclusive0(a.thread);
        return false;
      case Phase::kExclusive0:
        if (x.thread() == a.thread) {
          ++counts[kE0_E0];
          return false;
        }
        if (!options_.threadset) return Share(x, a, counts);
        ++counts[kE0_E1];
        x = TrackState::Exclusive1(a.thread, a.label);
        return false;
      case Phase::kExclusive1:
        if (!knows(x.label())) return Share(x, a, counts);
        ++counts[kE1_E1];
        x = TrackState::Exclusive1(a.thread, a.label);
        return false;
      case Phase::kSharedRead:
        if (a.writes) return Modify1(x, a, Common(x, a), counts, kSR_SM1);
        ++counts[kSR_SR];
        x = TrackState::SharedRead(Common(x, a));
        return false;
      case Phase::kSharedModify1:
        return Modify1(x, a, Common(x, a), counts, kSM1_SM1);
      case Phase::kExclusive2:
        if (knows(x.label())) return EnterExclusive2(x, a, counts[kE2_E2]);
        return Modify2(x, a, threadsets_.Pair(x.label(), a.label), counts[kE2_SM2]);
      case Phase::kSharedModify2: {
        const Threadset* set = threadsets_.Advance(ThreadsetOf(x), a.label, knows);
        if (set == nullptr) return EnterExclusive2(x, a, counts[kSM2_E2]);
        return Modify2(x, a, set, counts[kSM2_SM2]);
      }
      case Phase::kRace:
      case Phase::kRefined:
        break;  // the caller's states
    }
    return false;
  }

 private:
  using Phase = TrackState::Phase;
  using enum RaceTrackRules::Rule;

  PackedLockset Common(const TrackState& x, const TrackedAccess& a) { return Intersect(locksets_, x.locks(), a.locks); }

  // Several threads at a time: the lockset begins as what this access holds, and decides from here on.
  bool Share(TrackState& x, const TrackedAccess& a, uint64_t* counts) {
    if (a.writes) return Modify1(x, a, a.locks, counts, kE1_SM1);
    ++counts[kE1_SR];
    x = TrackState::SharedRead(a.locks);
    return false;
  }

  // Into Shared-Modify1, and at once out of it if no lock is left: [RT 2.4.1] "until the lockset would report a race".
  bool Modify1(TrackState& x, const TrackedAccess& a, PackedLockset common, uint64_t* counts,
               RaceTrackRules::Rule arrow) {
    ++counts[arrow];
    if (common == kNoLocks) return !options_.threadset || EnterExclusive2(x, a, counts[kSM1_E2]);
    x = TrackState::SharedModify1(common);
    return false;
  }

  // [RT Fig.2]: |S_x| = 1, so C_x is L_t.
  static bool EnterExclusive2(TrackState& x, const TrackedAccess& a, uint64_t& count) {
    ++count;
    x = TrackState::Exclusive2(a.locks, a.label);
    return false;
  }

  // [RT Fig.2]: |S_x| > 1, so L_t is taken into C_x; if nothing is left of it: report race.
  bool Modify2(TrackState& x, const TrackedAccess& a, const Threadset* set, uint64_t& count) {
    ++count;
    const PackedLockset common = Common(x, a);
    if (common == kNoLocks) {
      threadsets_.Drop(set);
      return true;
    }
    x = TrackState::SharedModify2(common, set);
    return false;
  }

  const RaceTrackOptions& options_;
  LocksetTable<Mem>& locksets_;
  ThreadsetTable<Mem>& threadsets_;
};

}  // namespace redflag
