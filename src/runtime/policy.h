// Policies: what happens when an access races (redflag/race_abi.h). The innermost one counts: of the access itself (redflag::checked), of its
// memory, of the thread and its scopes, of the process.
//
// A program that wants more than reports wants them at every racy access, not at the first alone: from then on (are_on) accesses
// that race are refused, or happen and are remembered, and no byte is left out because it had a race before.
//
// Any thread; the memory's are behind a lock that is taken last.
#pragma once

#include <redflag/race_abi.h>

#include <cstdint>

#include "events/access.h"
#include "runtime/flags.h"

namespace redflag::rt {

using Policy = redflag_race_policy;

// Which option is which policy: in the order of race_abi.h, behind "inherit".
constexpr uint32_t PolicyOf(OnRace action) { return static_cast<uint32_t>(action) + 1; }
constexpr OnRace ActionOf(uint32_t on_race) { return OnRace{static_cast<uint8_t>(on_race - 1)}; }
static_assert(PolicyOf(OnRace::kReport) == REDFLAG_ON_RACE_REPORT && PolicyOf(OnRace::kStop) == REDFLAG_ON_RACE_STOP &&
              PolicyOf(OnRace::kCore) == REDFLAG_ON_RACE_CORE && PolicyOf(OnRace::kAbort) == REDFLAG_ON_RACE_ABORT &&
              PolicyOf(OnRace::kEnd) == REDFLAG_ON_RACE_END && PolicyOf(OnRace::kThrow) == REDFLAG_ON_RACE_THROW &&
              PolicyOf(OnRace::kStopThread) == REDFLAG_ON_RACE_STOP_THREAD &&
              PolicyOf(OnRace::kCallback) == REDFLAG_ON_RACE_CALLBACK);

// Of those that are asked for at every racy access.
constexpr bool IsForEach(uint32_t on_race) { return on_race >= REDFLAG_ON_RACE_THROW; }
// Of those that leave the access out.
constexpr bool Refuses(uint32_t on_race) {
  return on_race == REDFLAG_ON_RACE_THROW || on_race == REDFLAG_ON_RACE_STOP_THREAD;
}

class Policies {
 public:
  static bool are_on() { return __atomic_load_n(&are_on_, __ATOMIC_RELAXED); }
  static void TurnOn() { __atomic_store_n(&are_on_, true, __ATOMIC_RELAXED); }
  // If it is one for each racy access.
  static void TurnOnFor(uint32_t on_race) {
    if (IsForEach(on_race) && !are_on()) TurnOn();
    if (on_race > REDFLAG_ON_RACE_REPORT) __atomic_store_n(&act_at_once_, true, __ATOMIC_RELAXED);
  }
  // Does something happen at a race but a report? Then at that very access.
  static bool act_at_once() { return __atomic_load_n(&act_at_once_, __ATOMIC_RELAXED); }

  static void SetProcess(const Policy& policy, Policy* old);
  static void SetMemory(uint64_t addr, uint64_t bytes, const Policy& policy);
  // The memory begins another life.
  static void ForgetMemory(uint64_t addr, uint64_t bytes);

  // What holds for an access by a thread that has these two, the first of which may be null. Never "inherit".
  static Policy Find(const Policy* own, const Policy& thread, uint64_t addr, uint64_t bytes);

 private:
  static bool are_on_;
  static bool act_at_once_;
};

}  // namespace redflag::rt
