// Locks that the program makes for itself of atomic operations, in functions that the user has named (docs/suppressions.md; RaceTrack 3.7). What
// such a function does is seen as atomic operations, and order between threads is what these say. Here it is found out which lock the
// thread has when the function has ended, for detectors that go by the locks that are held, and for reports.
//
// Nobody says when the function ends, if it was inlined: the thread has the lock when it does something outside of it.
//
// A lock may be made of several words; `SyncObject::own_lock` of each is the same then, the address of one of them.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "events/event.h"

namespace redflag::rt {

struct Frame;

// A lock that a thread is about to take: what it did so far in the function that takes it.
struct TakenLock {
  static constexpr uint32_t kMaxWords = 4;
  static constexpr uint32_t kMaxSteps = 8;

  uint32_t instance = 0;         // of the function (MarkedRange); 0: it is in none
  const Frame* level = nullptr;  // how deep in the stack of calls that is
  uint32_t marks = 0;
  ContextId context = kNoContext;  // of the last operation that acquires; if none does, of the last one
  bool acquires = false;           // one of them did
  bool changed = false;            // the last of them changed its word
  uint32_t word_count = 0;
  uint64_t words[kMaxWords] = {};  // that it acquired from; if it did from none, the first that it used
  // Which word was used where in the function: who uses another one at the same place has come again, for another lock.
  uint32_t step_count = 0;
  struct Step {
    uint64_t place, word;
  } steps[kMaxSteps] = {};

  // The last call of a function that gives a lock back.
  uint32_t given_instance = 0;
  const Frame* given_level = nullptr;
};

}  // namespace redflag::rt
