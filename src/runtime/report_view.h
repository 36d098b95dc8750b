// The report that a program may look at while it is told of a race (__tsan_on_report): abi_report.cc has the functions. Lives on the
// stack of the thread that found the race, for as long as the program's function runs.
#pragma once

#include <cstdint>

namespace redflag::rt {

class Runtime;
struct Misuse;
class Thread;

// t.record is the race; [addr, addr + bytes) the access that completed it. Calls __tsan_on_report if the program has it.
void TellProgram(Runtime& runtime, Thread& t, uint64_t addr, uint64_t bytes);
// The same of what is no race.
void TellProgram(Runtime& runtime, const Misuse& misuse);

}  // namespace redflag::rt
