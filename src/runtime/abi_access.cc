// The compiler's calls before each access to memory (-fsanitize=thread), as g++ and clang emit them.
//
// The fast path has no frame: the filter word of the cell is compared with the thread's tag, and if this thread made an access
// in its current segment that makes this one redundant, that is all. The slow path has the signature of the entry point and is
// called last, so that it becomes a jump and finds the program's return address as its own.
#include <cstdint>

#include "runtime/abi.h"
#include "runtime/emit.h"
#include "runtime/runtime.h"

namespace redflag::rt {
namespace {

constexpr uint64_t kWriteBit = uint64_t{2} << (PackedAccess::kKindShift - PackedAccess::kBytesShift);
constexpr uint64_t kBytesField = 0xff;

// What the filter word of the cell of `p` differs in from the tag; bits of the bytes field: bytes that it lacks.
template <bool kIsWrite>
inline uint64_t DifferenceToTag(const void* p) {
  const auto addr = reinterpret_cast<uint64_t>(p);
  const auto* words = reinterpret_cast<const uint64_t*>(local.cells + (addr & local.fold) * 2);
  const uint64_t word = __atomic_load_n(words + (kIsWrite ? 0 : 1), __ATOMIC_RELAXED) >> PackedAccess::kBytesShift;
  return (kIsWrite ? word : word | kWriteBit) ^ local.tag;
}

// Bytes that `p` points to in its granule, of an aligned access.
template <int kSize>
inline uint64_t NeededOf(const void* p) {
  return kSize >= 8 ? 0xff : ((uint64_t{1} << kSize) - 1) << (reinterpret_cast<uint64_t>(p) & 7);
}

// Do all that matters for an aligned access of this size agree?
template <int kSize>
inline bool IsHit(uint64_t difference, const void* p) {
  if constexpr (kSize == 8) return difference == 0;
  return (difference & (~kBytesField | NeededOf<kSize>(p))) == 0;
}

// The other word that may tell: that of this thread in the cell's record, if there is one; otherwise the one that the filter did
// not look at.
template <bool kIsWrite>
inline uint64_t SecondDifference(const void* p) {
  const auto addr = reinterpret_cast<uint64_t>(p);
  const auto* words = reinterpret_cast<const uint64_t*>(local.cells + (addr & local.fold) * 2);
  uint64_t word = __atomic_load_n(words + 1, __ATOMIC_ACQUIRE);
  if (Detector::Cell::IsHandle(word)) {
    const auto* record = reinterpret_cast<const char*>(word << Detector::Cell::kHandleShift);
    word = __atomic_load_n(reinterpret_cast<const uint64_t*>(record + local.home), __ATOMIC_RELAXED);
  } else if constexpr (!kIsWrite) {
    word = __atomic_load_n(words, __ATOMIC_RELAXED);
  }
  word >>= PackedAccess::kBytesShift;
  return (kIsWrite ? word : word | kWriteBit) ^ local.tag;
}

// Did this thread find the access at second glance before?
template <int kSize>
inline bool IsSeen(const void* p) {
  const auto addr = reinterpret_cast<uint64_t>(p);
  const uint64_t difference = local.seen[SeenIndex(addr)] ^ SeenWord(addr, local.now);
  return (difference & (~kBytesField | NeededOf<kSize>(p))) == 0;
}

// Finds it there, and notes that.
template <int kSize>
inline bool IsSecond(const void* p) {
  const uint64_t difference = SecondDifference<false>(p);
  if (!IsHit<kSize>(difference, p)) return false;
  const auto addr = reinterpret_cast<uint64_t>(p);
  local.seen[SeenIndex(addr)] = SeenWord(addr, local.now) ^ (difference & kBytesField);
  return true;
}

// The second chance of a read: data that several threads read have a record, and in it a place for this one; fields that share a
// granule may have been written and read.
template <int kSize, void (*kSlow)(void*)>
[[gnu::noinline]] void ReadAgain(void* p) {
  if constexpr (kSize == 16) {
    void* rest = static_cast<char*>(p) + 8;
    const auto is_known = [](void* half) {
      return DifferenceToTag<false>(half) == 0 || IsSeen<8>(half) || IsSecond<8>(half);
    };
    if (is_known(p) && is_known(rest)) return;
  } else {
    if (IsSeen<kSize>(p) || IsSecond<kSize>(p)) return;
  }
  REDFLAG_TAIL_CALL kSlow(p);
}

// The same of a write.
template <int kSize, void (*kSlow)(void*)>
[[gnu::noinline]] void WriteAgain(void* p) {
  if (IsHit<kSize>(SecondDifference<true>(p), p)) return;
  REDFLAG_TAIL_CALL kSlow(p);
}

inline void Slow(const void* p, uint64_t bytes, AccessKind kind, uint64_t place) {
  Thread* thread = Runtime::Enter();
  if (thread == nullptr) return;
  Runtime::Get().AccessRange(*thread, reinterpret_cast<uint64_t>(p), bytes, kind, place);
  Runtime::Leave(thread);
}

template <int kSize, AccessKind kKind>
[[gnu::noinline]] void SlowAccess(void* p) {
  Slow(p, kSize, kKind, REDFLAG_CALLER);
}

// The same of an address that is a multiple of the size.
template <int kSize, AccessKind kKind>
[[gnu::noinline]] void AlignedAccess(void* p) {
  Thread* thread = Runtime::Enter();
  if (thread == nullptr) return;
  const auto addr = reinterpret_cast<uint64_t>(p);
  const auto bytes = ByteMask(((1u << kSize) - 1) << (addr & 7));
  if (!thread->Ignores(kKind)) Runtime::Get().AccessGranule(*thread, addr, bytes, kKind, REDFLAG_CALLER, kSize);
  Runtime::Leave(thread);
}

constexpr auto kVptr = static_cast<uint64_t>(PlaceFlag::kVptr);
[[gnu::noinline]] void SlowVptrRead(void** p) { Slow(p, sizeof *p, AccessKind::kRead, REDFLAG_CALLER | kVptr); }
[[gnu::noinline]] void SlowVptrUpdate(void** p, void*) {
  Slow(p, sizeof *p, AccessKind::kWrite, REDFLAG_CALLER | kVptr);
}

}  // namespace
}  // namespace redflag::rt

using redflag::AccessKind;
using namespace redflag::rt;  // NOLINT: this file is the outside of that namespace

#define REDFLAG_ACCESS(size)                                                        \
  REDFLAG_ABI void __tsan_read##size(void* p) {                                     \
    if (IsHit<size>(DifferenceToTag<false>(p), p)) [[likely]]                       \
      return;                                                                       \
    REDFLAG_TAIL_CALL ReadAgain<size, AlignedAccess<size, AccessKind::kRead>>(p);   \
  }                                                                                 \
  REDFLAG_ABI void __tsan_write##size(void* p) {                                    \
    if (IsHit<size>(DifferenceToTag<true>(p), p)) [[likely]]                        \
      return;                                                                       \
    REDFLAG_TAIL_CALL WriteAgain<size, AlignedAccess<size, AccessKind::kWrite>>(p); \
  }                                                                                 \
  REDFLAG_ABI void __tsan_volatile_read##size(void* p) {                            \
    REDFLAG_TAIL_CALL AlignedAccess<size, AccessKind::kRead>(p);                    \
  }                                                                                 \
  REDFLAG_ABI void __tsan_volatile_write##size(void* p) {                           \
    REDFLAG_TAIL_CALL AlignedAccess<size, AccessKind::kWrite>(p);                   \
  }                                                                                 \
  REDFLAG_ABI void __tsan_read_write##size(void* p) {                               \
    if (IsHit<size>(DifferenceToTag<true>(p), p)) [[likely]]                        \
      return;                                                                       \
    REDFLAG_TAIL_CALL WriteAgain<size, AlignedAccess<size, AccessKind::kWrite>>(p); \
  }
REDFLAG_ACCESS(1)
REDFLAG_ACCESS(2)
REDFLAG_ACCESS(4)
REDFLAG_ACCESS(8)
#undef REDFLAG_ACCESS

// Two granules. A pointer that is not aligned to them, as vector instructions may have, fails the comparison of neither: so it is
// looked at first.
REDFLAG_ABI void __tsan_read16(void* p) {
  const uint64_t difference = DifferenceToTag<false>(p) | DifferenceToTag<false>(static_cast<char*>(p) + 8);
  if ((difference | (reinterpret_cast<uint64_t>(p) & 7)) == 0) [[likely]]
    return;
  if ((reinterpret_cast<uint64_t>(p) & 7) != 0) REDFLAG_TAIL_CALL SlowAccess<16, AccessKind::kRead>(p);
  REDFLAG_TAIL_CALL ReadAgain<16, SlowAccess<16, AccessKind::kRead>>(p);
}
REDFLAG_ABI void __tsan_write16(void* p) {
  const uint64_t difference = DifferenceToTag<true>(p) | DifferenceToTag<true>(static_cast<char*>(p) + 8);
  if ((difference | (reinterpret_cast<uint64_t>(p) & 7)) == 0) [[likely]]
    return;
  REDFLAG_TAIL_CALL SlowAccess<16, AccessKind::kWrite>(p);
}

// An address that may lie anywhere: no filter in front.
#define REDFLAG_SLOW_ACCESS(name, size)                                                                             \
  REDFLAG_ABI void __tsan_##name##read##size(void* p) { REDFLAG_TAIL_CALL SlowAccess<size, AccessKind::kRead>(p); } \
  REDFLAG_ABI void __tsan_##name##write##size(void* p) { REDFLAG_TAIL_CALL SlowAccess<size, AccessKind::kWrite>(p); }
REDFLAG_SLOW_ACCESS(volatile_, 16)
REDFLAG_SLOW_ACCESS(unaligned_, 2)
REDFLAG_SLOW_ACCESS(unaligned_, 4)
REDFLAG_SLOW_ACCESS(unaligned_, 8)
REDFLAG_SLOW_ACCESS(unaligned_, 16)
REDFLAG_SLOW_ACCESS(unaligned_volatile_, 2)
REDFLAG_SLOW_ACCESS(unaligned_volatile_, 4)
REDFLAG_SLOW_ACCESS(unaligned_volatile_, 8)
REDFLAG_SLOW_ACCESS(unaligned_volatile_, 16)
#undef REDFLAG_SLOW_ACCESS

#define REDFLAG_READ_WRITE(size)                                \
  REDFLAG_ABI void __tsan_unaligned_read_write##size(void* p) { \
    REDFLAG_TAIL_CALL SlowAccess<size, AccessKind::kWrite>(p);  \
  }
REDFLAG_READ_WRITE(2)
REDFLAG_READ_WRITE(4)
REDFLAG_READ_WRITE(8)
REDFLAG_READ_WRITE(16)
#undef REDFLAG_READ_WRITE
REDFLAG_ABI void __tsan_read_write16(void* p) { REDFLAG_TAIL_CALL SlowAccess<16, AccessKind::kWrite>(p); }

REDFLAG_ABI void __tsan_vptr_read(void** p) { REDFLAG_TAIL_CALL SlowVptrRead(p); }
// Storing the same value again, as derived destructors do for their own type, changes nothing and is no race.
REDFLAG_ABI void __tsan_vptr_update(void** p, void* value) {
  if (*p == value) return;
  REDFLAG_TAIL_CALL SlowVptrUpdate(p, value);
}

REDFLAG_ABI void __tsan_read_range(void* p, unsigned long bytes) { Slow(p, bytes, AccessKind::kRead, REDFLAG_CALLER); }
REDFLAG_ABI void __tsan_write_range(void* p, unsigned long bytes) {
  Slow(p, bytes, AccessKind::kWrite, REDFLAG_CALLER);
}
REDFLAG_ABI void __tsan_read1_pc(void* p, void* pc) { Slow(p, 1, AccessKind::kRead, reinterpret_cast<uint64_t>(pc)); }

// ---- Calls ----

REDFLAG_ABI void __tsan_func_entry(void* pc) { EnterFunction(reinterpret_cast<uint64_t>(pc)); }
REDFLAG_ABI void __tsan_func_exit() { LeaveFunction(); }

// Called by a constructor of every instrumented module.
REDFLAG_ABI void __tsan_init() {
  if (Runtime::IsActive()) NoteInstrumented();
}
REDFLAG_ABI void __tsan_ignore_thread_begin() {
  if (Runtime::IsActive()) ++local.thread->ignore;
}
REDFLAG_ABI void __tsan_ignore_thread_end() {
  if (Runtime::IsActive()) --local.thread->ignore;
}
