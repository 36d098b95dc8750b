// What the processes of a run tell `redflag run`: counts in memory that they share with it, by atomic additions. It makes that memory and waits for
// the program; every process of the program that has a runtime opens it by the path in REDFLAG_STATUS.
#pragma once

#include <cstdint>

namespace redflag {

struct RunStatus {
  uint64_t reports;
  uint64_t instrumented;  // 1: something in it was compiled for race detection
  uint64_t switched_off;  // 1: a process ran unchecked
};
static_assert(sizeof(RunStatus) == 24);

}  // namespace redflag
