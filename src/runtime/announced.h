// Edges that the program announces by the address of a variable (__tsan_release, ANNOTATE_HAPPENS_BEFORE), which may be an atomic one that it
// also uses: a relaxed store ends what the variable itself carries (C++20), and must not end what was announced. So an announcement goes
// to the variable and to a second object beside it, and is taken from both.
#pragma once

#include <cstdint>

#include "intercept/hooks.h"
#include "runtime/sync_table.h"

namespace redflag::rt {

inline const void* BesideOf(const void* object) {
  return reinterpret_cast<const void*>(reinterpret_cast<uint64_t>(object) | SyncTable::kBeside);
}

inline void AnnouncedRelease(hooks::Pc pc, const void* object) {
  hooks::Release(pc, object);
  hooks::Release(pc, BesideOf(object));
}
inline void AnnouncedReleaseStore(hooks::Pc pc, const void* object) {
  hooks::ReleaseStore(pc, object);
  hooks::ReleaseStore(pc, BesideOf(object));
}
inline void AnnouncedAcquire(hooks::Pc pc, const void* object) {
  hooks::Acquire(pc, object);
  hooks::Acquire(pc, BesideOf(object));
}

}  // namespace redflag::rt
