// The compiler's calls that are made all the time: before each access to memory (-fsanitize=thread, as g++ and clang emit them), at the beginning and the end of each function.
//
// None has a frame. An access that the first filter knows (filter.h) ends there. Everything else is jumped to, and finds the program's return address as its own: it is in the runtime
// library (abi_access.cc), which there is one of for each detector.
//
// Built twice. In the runtime library, for whoever was not linked by `redflag cc`; and (REDFLAG_IN_PROGRAM) as an object file that `redflag cc` links into programs. There a call is a call, not a jump
// through the table of the dynamic linker, and thread-local words are at a place that the code knows. The detector stays a choice of the moment, and the library the same.
#include <cstdint>

#include "base/tail_call.h"
#include "events/access.h"
#include "runtime/abi.h"
#include "runtime/filter.h"
#include "runtime/linked.h"
#include "runtime/local.h"
#ifndef REDFLAG_IN_PROGRAM
#include "runtime/detector.h"
#endif

namespace redflag::rt {

#ifdef REDFLAG_IN_PROGRAM
thread_local constinit Local local = kUnknown;
#endif

namespace {

// Of detectors that have no planes none is remembered: to ask is a waste, and no more.
#ifdef REDFLAG_IN_PROGRAM
constexpr bool kAsksPlanes = true;
#else
constexpr bool kAsksPlanes = kHasPlanes;
#endif

using Rest = void (*)(void*);

// An aligned access.
template <int kSize, Rest kRest>
[[gnu::always_inline]] inline void Write(void* p) {
  if (IsKnownToCell<true>(p, AlignedOf<kSize>(p))) [[likely]]
    return;
  REDFLAG_TAIL_CALL kRest(p);
}
template <int kSize, Rest kRest, Rest kBeyondPlane>
[[gnu::always_inline]] inline void Read(void* p) {
  const uint64_t needed = AlignedOf<kSize>(p);
  if constexpr (kAsksPlanes) {
    if (const uint64_t* word = Planes::Recall(local.planes, reinterpret_cast<uint64_t>(p))) {
      if (IsHit(DifferenceToTag<false>(__atomic_load_n(word, __ATOMIC_RELAXED)), needed)) [[likely]]
        return;
      REDFLAG_TAIL_CALL kBeyondPlane(p);
    }
  }
  if (IsKnownToCell<false>(p, needed)) [[likely]]
    return;
  REDFLAG_TAIL_CALL kRest(p);
}

// Anywhere: in one granule with luck, in two, in three.
template <int kSize, bool kIsWrite, Rest kRest>
[[gnu::always_inline]] inline void Long(void* p) {
  if (IsKnown<kAsksPlanes, kIsWrite, true>(p, NeededOf<kSize>(p))) return;
  REDFLAG_TAIL_CALL kRest(p);
}

}  // namespace
}  // namespace redflag::rt

using namespace redflag::rt;  // NOLINT: this file is the outside of that namespace

#define REDFLAG_READ(name, size)                                                          \
  REDFLAG_ABI void __tsan_##name##size(void* p) {                                         \
    Read<size, REDFLAG_LINKED(read##size), REDFLAG_LINKED(read##size##_beyond_plane)>(p); \
  }
#define REDFLAG_WRITE(name, size) \
  REDFLAG_ABI void __tsan_##name##size(void* p) { Write<size, REDFLAG_LINKED(write##size)>(p); }
#define REDFLAG_ACCESSES(size)      \
  REDFLAG_READ(read, size)          \
  REDFLAG_READ(volatile_read, size) \
  REDFLAG_WRITE(write, size)        \
  REDFLAG_WRITE(read_write, size)   \
  REDFLAG_WRITE(volatile_write, size)
REDFLAG_ACCESSES(1)
REDFLAG_ACCESSES(2)
REDFLAG_ACCESSES(4)
REDFLAG_ACCESSES(8)
#undef REDFLAG_ACCESSES
#undef REDFLAG_WRITE
#undef REDFLAG_READ

// Those of 16 bytes are called unaligned or not as the program sees it.
#define REDFLAG_READ(name, size) \
  REDFLAG_ABI void __tsan_##name##size(void* p) { Long<size, false, REDFLAG_LINKED(long_read##size)>(p); }
#define REDFLAG_WRITE(name, size) \
  REDFLAG_ABI void __tsan_##name##size(void* p) { Long<size, true, REDFLAG_LINKED(long_write##size)>(p); }
#define REDFLAG_ACCESSES(prefix, size)      \
  REDFLAG_READ(prefix##read, size)          \
  REDFLAG_READ(prefix##volatile_read, size) \
  REDFLAG_WRITE(prefix##write, size)        \
  REDFLAG_WRITE(prefix##read_write, size)   \
  REDFLAG_WRITE(prefix##volatile_write, size)
REDFLAG_ACCESSES(unaligned_, 2)
REDFLAG_ACCESSES(unaligned_, 4)
REDFLAG_ACCESSES(unaligned_, 8)
REDFLAG_ACCESSES(unaligned_, 16)
REDFLAG_ACCESSES(, 16)
#undef REDFLAG_ACCESSES
#undef REDFLAG_WRITE
#undef REDFLAG_READ

REDFLAG_ABI void __tsan_vptr_read(void** p) {
  if (IsKnown<kAsksPlanes, false, false>(p, kBytesField)) return;
  REDFLAG_TAIL_CALL REDFLAG_LINKED(vptr_read)(p);
}

REDFLAG_ABI void __tsan_func_entry(void* pc) {
  if (!Enter(reinterpret_cast<uint64_t>(pc))) [[unlikely]]
    REDFLAG_TAIL_CALL REDFLAG_LINKED(func_entry)(pc);
}
REDFLAG_ABI void __tsan_func_exit() {
  if (!Leave()) [[unlikely]]
    REDFLAG_TAIL_CALL REDFLAG_LINKED(func_exit)();
}
