// LibraryRules: the rules `called_from_lib:PATTERN` of the files of suppressions, as ThreadSanitizer understands them: each is about one library,
// which stays. If strict_called_from_lib is set, the program is ended where that is not so. What the rules hide is not decided here (marked_code.h).
//
// Looked at when the program begins, and when libraries have come or gone; by one thread at a time.
#pragma once

#include <cstdint>

#include "base/mem.h"
#include "runtime/flags.h"

namespace redflag::rt {

class LibraryRules {
 public:
  // Are there any that have to be kept to? Known once Check was called.
  static bool are_strict() { return __atomic_load_n(&count_, __ATOMIC_ACQUIRE) != 0; }

  // Compares the rules with what is loaded; the first time, reads them. Inside the runtime. Does not return if one is not kept to.
  static void Check(const Flags& flags);

 private:
  static constexpr uint32_t kMost = 64;
  struct Rule {
    char pattern[128];
    char library[512];  // that it was found to be about; empty: none yet
    bool is_loaded;     // that library, at the time that is being looked at
  };

  static void Read(const Flags& flags);
  template <class Next>
  static void ReadLines(Next next);
  static void Compare(Rule& rule, const char* path);

  static Rule rules_[kMost];
  static uint32_t count_;
  static bool is_read_;
  static AtomicMem::Lock lock_;
};

}  // namespace redflag::rt
