// Emit: from a RaceRecord to messages (events/wire.h) in the ring, and the helper process that reads them.
//
// A race is told once for each pair of call stacks and named variable, up to a limit for a pair of places; repetitions are counted. If there is no helper, a short text with
// module+offset goes to standard error instead (`redflag symbolize` reads it).
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "events/access.h"
#include "events/tolerated.h"
#include "events/wire.h"
#include "runtime/flags.h"
#include "runtime/lock_order.h"

namespace redflag::rt {

class Runtime;
class Thread;

void StartEmitting(const Flags& flags);
// Waits, within limits, until the helper has written everything.
void StopEmitting(const Flags& flags);

// The same while the program runs: until all that was told so far has been written.
void FlushReports(const Flags& flags);

struct ToldRace {
  uint64_t sequence = 0;       // the number that it was told under; 0: it was told before
  bool is_on_stack = false;    // the variable is on some thread's; of news
  bool is_suppressed = false;  // of what was told before, and looked at then (MarkSuppressed)
  bool is_news() const { return sequence != 0; }
};
// t.record is the race; [addr, addr + bytes) the access that completed it.
ToldRace EmitRace(Runtime& runtime, Thread& t, uint64_t addr, uint64_t bytes);
// Was a race between accesses in these contexts told, which the thread has found again lately, in the same block of the heap? Then `place` is for CountFoundAgain.
bool IsFoundAgain(const Thread& t, ContextId mine, ContextId earlier, ByteMask bytes, Addr granule, uint32_t& place);
void CountFoundAgain(const Thread& t, uint32_t place);
// The user does not want to hear of the race that was told under this number.
void MarkSuppressed(uint64_t sequence);

// The same of one that a tolerant section found.
uint64_t EmitTolerated(Runtime& runtime, Thread& t, const ToleratedRace& race);

// Something that is wrong and no race.
struct Misuse {
  uint64_t lock = 0;  // 0: it is about none
  Tid thread{};
  wire::Flaw flaw{};
  ContextId where = kNoContext, taken_at = kNoContext, made_at = kNoContext;
  const LockOrder::Cycle* cycle = nullptr;  // of kLockOrder
  uint32_t number = 0;                      // wire::Misuse::number
};
void EmitMisuse(Runtime& runtime, const Misuse& misuse);

// What was done to a variable after its race was told.
struct Watched;
void TellWatched(Runtime& runtime, const Watched& watched);

// How many races were left out because the same pair of places was told before.
uint64_t DuplicateReports();

// Some module of this process was compiled for race detection.
void NoteInstrumented();

// This process is not watched.
void NoteSwitchedOff();

// Races that were told and that the user does not want to hear of. Known after StopEmitting, of those so far after FlushReports.
uint64_t SuppressedRaces();

// A kind of object (abi_external.cc); something that the user should know: 0 for information, 1 a warning.
void TellTag(uint32_t number, const char* object_type, const char* header);
void TellNote(uint32_t severity, const char* text);

// Modules that may be gone when a race is told that has to do with them; and that those in a range are.
void TellModules();
void TellModulesGone(uint64_t begin, uint64_t bytes);

// After a fork, in the child: a ring and a helper of its own, when there is something to tell, or at once.
void RestartEmitting(const Flags& flags, bool at_once);

// What was counted, at the end.
void TellCounters(Runtime& runtime);

// The name of a thread has changed, and the record should say so.
void TellThread(Runtime& runtime, Tid tid);

}  // namespace redflag::rt
