// RaceTrack's settings, the names of its rules, and which elements of an array it tracks: what does not depend on the
// memory policy.
#pragma once

#include <cstdint>

#include "detectors/detector.h"
#include "events/access.h"

namespace redflag {

// The paper as it stands is the default. Table 2 of the paper: "lockset" is {.threadset = false, .object_first = false},
// "+threadset" {.object_first = false}, "+granularity" {}. Figure 2 is {.adaptive_threadset = false, .object_first = false}.
struct RaceTrackOptions {
  bool threadset = true;           // false: locksets alone decide, from the second thread on
  bool adaptive_threadset = true;  // 2.4.1; false: both from the first access on
  bool object_first = true;        // 2.4.2; false: each field for itself from the first access on
  uint32_t array_sample = 0;  // 3.5: of objects of more than 3m granules track m at each end and in the middle; the
                              // paper's m is 128; 0: all
  bool report_object_level = false;  // 2.4.3: also report the warnings of low accuracy
  uint32_t clock_bound = 0;  // 3.5: labels that a thread remembers of others, at least 2; the paper's bound is 8192;
                             // 0: all
};

// Arrows are named by their ends: V Virgin, E0-E2 Exclusive0-2, SR Shared-Read, SM1-SM2 Shared-Modify1-2.
struct RaceTrackRules {
  enum Rule : uint8_t {
    kV_E0,
    kV_E2,
    kE0_E0,
    kE0_E1,
    kE1_E1,
    kE1_SR,
    kE1_SM1,
    kSR_SR,
    kSR_SM1,
    kSM1_SM1,
    kSM1_E2,
    kE2_E2,
    kE2_SM2,
    kSM2_SM2,
    kSM2_E2,
    kObjectWarning,
    kRace,
    kRaceAgain,
    kRaceQuiet,
    kObjectLevel,
    kFieldLevel,
    kAtomic,
    kUnsampled,
    kFork,
    kJoin,
    kLock,
    kUnlock,
    kPureHbLock,
    kPureHbUnlock,
    kAcquire,
    kReleaseStore,
    kReleaseMerge,
    kRelaxed,
    kFence,
    kCommit,
    kLifetime,
    kRuleCount,
  };
  static constexpr RuleInfo kInfo[kRuleCount] = {
      {"virgin to exclusive0", "[RT 2.4.1 V]"},
      {"virgin to exclusive2", "[RT Fig.2 first]"},
      {"exclusive0", "[RT 2.4.1 E0]"},
      {"exclusive0 to exclusive1", "[RT 2.4.1 E0]"},
      {"exclusive1", "[RT 2.4.1 E1]"},
      {"to shared-read", "[RT 2.4.1 SR]"},
      {"to shared-modify1", "[RT 2.4.1 SM1]"},
      {"shared-read", "[RT 2.4.1 SR]"},
      {"shared-read to shared-modify1", "[RT 2.4.1 SM1]"},
      {"shared-modify1", "[RT 2.4.1 SM1]"},
      {"shared-modify1 to exclusive2", "[RT 2.4.1 E2]"},
      {"exclusive2", "[RT 2.4.1 E2]"},
      {"exclusive2 to shared-modify2", "[RT 2.4.1 SM2]"},
      {"shared-modify2", "[RT 2.4.1 SM2]"},
      {"shared-modify2 to exclusive2", "[RT 2.4.1 SM2]"},
      {"object-level warning", "[RT 2.4.2]"},
      {"race", "[RT 2.4.1 Report-Race]"},
      {"race, one more thread", "[RT 3.6 stacks]"},
      {"quiet after race", "[RT 3.6 stacks]"},
      {"access at object level", "[RT Table 3]"},
      {"access at field level", "[RT Table 3]"},
      {"atomic, not tracked", "[RT 3.4]"},
      {"element not sampled", "[RT 3.5 array]"},
      {"fork", "[RT Fig.2 Fork]"},
      {"join", "[RT Fig.2 Join]"},
      {"lock", "[RT Fig.2 Lock]"},
      {"unlock", "[RT Fig.2 Unlock]"},
      {"lock that orders", "[TS 5 pure-hb]"},
      {"unlock that orders", "[TS 5 pure-hb]"},
      {"acquire", "[RT 2.2 Wait] [atomics.order]/2"},
      {"release store", "[atomics.order]/2"},
      {"release merge", "[RT 2.2 Pulse] [intro.races]/5"},
      {"relaxed atomic", "[atomics.fences]/2-4"},
      {"fence", "[atomics.fences]/2-4"},
      {"commit", "[GL 3 commit] [LOCKSET TL]"},
      {"lifetime", "[RT 2.4.1 V]"},
  };
};

// [RT 3.5 array]: the first, the middle and the last `sample` granules of a large object.
constexpr bool IsSampled(uint64_t sample, const Access& access) {
  const Addr begin = GranuleOf(access.object);
  const uint64_t granules = (access.object + access.object_size + (kGranule - 1) - begin) / kGranule;
  if (sample == 0 || granules <= 3 * sample) return true;
  const uint64_t index = (access.granule - begin) / kGranule;
  const uint64_t middle = (granules - sample) / 2;
  return index < sample || (index >= middle && index < middle + sample) || index >= granules - sample;
}

}  // namespace redflag
