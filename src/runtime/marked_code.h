// MarkedCode: what the user's rules say of the program's code, by address (events/code_mark.h). A short-lived process of the host side finds
// that out when the first instrumented module is initialized, and again for each that is loaded later. Nothing is done if no file of
// rules has any about code.
//
// Looked at where a context is made that was not asked for before, and at atomic operations if there are rules about locks; by any
// thread, without locks. A table that was replaced stays where it is.
#pragma once

#include <cstdint>

#include "events/code_mark.h"
#include "runtime/flags.h"

namespace redflag::rt {

class MarkedCode {
 public:
  static bool is_on() { return __atomic_load_n(&table_, __ATOMIC_ACQUIRE) != nullptr; }
  // Is there code that takes locks?
  static bool has_locks() { return __builtin_expect(__atomic_load_n(&has_locks_, __ATOMIC_RELAXED), 0) != 0; }

  // Of the call that returns to this place; null: nothing is said of it.
  static const MarkedRange* At(uint64_t place);
  static uint32_t MarksAt(uint64_t place) {
    const MarkedRange* range = At(place);
    return range == nullptr ? 0 : range->marks;
  }

  // The module that has this place is about to run. By one thread at a time, inside the runtime.
  static void Load(const Flags& flags, uint64_t place);

 private:
  static MarkedCodeHeader* table_;
  static bool has_locks_;
};

}  // namespace redflag::rt
