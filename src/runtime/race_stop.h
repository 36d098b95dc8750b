// What a program does when a race has been reported, if it is not to go on: stop for a debugger, leave a core, abort, end (flags on_race and
// halt_on_error).
//
// A debugger finds the race in `redflag_race`, by that name and as plain numbers: tools/redflag-gdb.py shows it. In core files too.
#pragma once

#include <cstdint>

#include "runtime/flags.h"

namespace redflag::rt {

class Runtime;
class Thread;

// t.record is the race, which has been told; [addr, addr + bytes) the access that completed it. Comes back if the program goes on.
void StopAtRace(Runtime& runtime, Thread& t, uint64_t addr, uint64_t bytes);

}  // namespace redflag::rt
