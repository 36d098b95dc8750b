// What a program does when a race has been reported, if it is not to go on: stop for a debugger, leave a core, abort, end (flags on_race and
// halt_on_error).
//
// A debugger finds the race in `redflag_race`, by that name and as plain numbers: tools/redflag-gdb.py shows it. In core files too.
#pragma once

#include <redflag/race_abi.h>

#include <cstdint>

#include "runtime/flags.h"

namespace redflag::rt {

class Runtime;
class Thread;

// t.record is the race, which has been told; [addr, addr + bytes) the access that completed it. Comes back if the program goes on.
void StopAtRace(Runtime& runtime, Thread& t, uint64_t addr, uint64_t bytes, OnRace action);

// The same as plain numbers, for the program.
void Describe(Runtime& runtime, Thread& t, uint64_t addr, uint64_t bytes, redflag_race_info& race);

// Waits until what was told last is written: did the user not want to hear of it?
bool LooksSuppressed(const Flags& flags);

}  // namespace redflag::rt
