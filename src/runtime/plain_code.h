// PlainCode: code that was not compiled for race detection, and that keeps its data in order by means that nobody sees: a library with atomic
// operations and futexes of its own. What such code hands to functions of libc, or allocates and frees, is no access of the program's: to hold it
// against others would give false alarms. Its locks and semaphores are those of libc, and count.
//
// libc and the C++ library are not plain in this sense: they do what they do for whoever called them, and bring no order of their own. That may be plain
// code: as far as it is known who called them, that decides.
//
// A module is known by the call of __tsan_init that its constructor makes, or, if the compiler has made a jump of it, which returns to whoever called
// the constructor, by importing that function; code that is in no known module is plain. Before the first of these calls
// nothing is. Readers take no lock; one thread at a time adds.
#pragma once

#include <cstdint>

#include "runtime/thread.h"

namespace redflag::rt {

class PlainCode {
 public:
  // Was the call that returns to this place made by plain code?
  static bool Has(uint64_t place) {
    const uint32_t count = __atomic_load_n(&count_, __ATOMIC_ACQUIRE);
    if (count == 0 || place - ranges_[kMain].begin < ranges_[kMain].bytes) [[likely]]
      return false;
    return Looks(place, count);
  }

  // The module that has this place was compiled for race detection.
  static void NoteInstrumented(uint64_t place);
  // What was loaded there is gone.
  static void NoteGone(uint64_t image, uint64_t bytes);

 private:
  struct Range {
    uint64_t begin, bytes;
    bool is_anybodys;  // a library that serves whoever calls it
  };
  static constexpr uint32_t kMost = 256;
  static constexpr uint32_t kMain = 0;  // the program itself, if it is instrumented: it makes most calls

  static const Range* Find(uint64_t place, uint32_t count);  // null: it is in none
  static bool Looks(uint64_t place, uint32_t count);
  static bool IsServed(uint32_t count);
  static void Add(const Range& range);
  static void AddModule(const Range& range);
  static void NoteImporters();

  static Range ranges_[kMost];
  // Of modules that were looked at: where their dynamic section is.
  static constexpr uint32_t kMostLookedAt = 1024;
  static const void* looked_at_[kMostLookedAt];
  static uint32_t looked_at_count_;
  static uint32_t count_;  // 0: nothing is known yet, or there are too many
  static bool is_full_;
};

}  // namespace redflag::rt
