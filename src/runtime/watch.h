// Watch: what is done to a racy variable after its race was told. The report is better for it: "14 of 16 accesses hold m". A few variables
// are watched at one time, each until it was accessed kMost times or its memory is freed, or the process ends; then what was
// seen is told. One thread that does one thing again and again without telling anybody counts once.
//
// Accesses to racy bytes are not recorded in cells, so that no filter knows them: with the shortcuts of watched cells closed (MayBeOn), all
// of them come to Runtime::ExamineCell, which asks here.
//
// Any thread, inside the runtime. One lock, which is taken before that of emit.h and never while that is held.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "events/access.h"
#include "runtime/lock_log.h"

namespace redflag::rt {

class Runtime;
class Thread;

struct Watched {
  static constexpr uint32_t kMost = 14;  // with two that race, 16

  struct Seen {
    uint64_t label = 0;  // of the thread's time
    uint64_t addr = 0;
    uint32_t bytes = 0;
    Tid thread{};
    AccessKind kind{};
    ContextId context{};
    LockLog::Entry locks;
  };

  uint64_t granule = 0;  // 0: nothing is watched here
  const void* cell = nullptr;
  uint64_t sequence = 0;  // of the race
  ByteMask racy{};
  uint32_t count = 0;
  Seen seen[kMost];
};

class Watch {
 public:
  static bool is_on() { return __atomic_load_n(&is_on_, __ATOMIC_RELAXED); }
  // "no" is certain, of the granule that has this cell.
  static bool MayBeOn(const void* cell) {
    const uint64_t number = NumberOf(cell);
    return (__atomic_load_n(&filter_[number / 64], __ATOMIC_RELAXED) >> number % 64 & 1) != 0;
  }

  // The race on these bytes was told under this number.
  static void Begin(uint64_t granule, const void* cell, ByteMask racy, uint64_t sequence);
  // An access to bytes of a granule, part of one to [addr, addr + size).
  static void See(Runtime& runtime, Thread& t, uint64_t granule, ByteMask bytes, AccessKind kind, ContextId context,
                  uint64_t addr, uint64_t size);
  // The memory is something else from now on. All of it: the process ends.
  static void End(Runtime& runtime, uint64_t addr, uint64_t bytes);
  static void EndAll(Runtime& runtime) { EndHere(runtime, 0, UINT64_MAX); }
  // After a fork, in the child: nothing is watched.
  static void Clear();

 private:
  // Many for the few that are watched: of a program with many races all cells would have to be asked for otherwise.
  static constexpr uint32_t kFilterBits = 2048;
  static uint64_t NumberOf(const void* cell) { return reinterpret_cast<uint64_t>(cell) / 16 % kFilterBits; }
  static bool MayBeOn(const void* first, uint64_t count);  // of so many granules
  static void EndHere(Runtime& runtime, uint64_t addr, uint64_t bytes);
  static void Stop(Watched& watched);
  static void FillFilter();

  static uint64_t filter_[kFilterBits / 64];  // of all that is watched, the bits
  static bool is_on_;                         // is there one?
};

}  // namespace redflag::rt
