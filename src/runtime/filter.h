// The first filter: is an access to memory one that its thread has made already, at this time, as far as one word of the shadow can tell? Asked before every access, in a handful of
// instructions, by the thread that makes it; nobody is waited for, and nothing is changed. Why that is sound: docs/shadow.md.
//
// What an access needs is a mask of the bytes of its granule.
#pragma once

#include <cstdint>

#include "clocks/packed_access.h"
#include "runtime/local.h"
#include "runtime/planes.h"

namespace redflag::rt {

inline constexpr uint64_t kWriteBit = uint64_t{2} << (PackedAccess::kKindShift - PackedAccess::kBytesShift);
inline constexpr uint64_t kBytesField = 0xff;
inline constexpr uint64_t kAllButTime = (uint64_t{1} << (PackedAccess::kTimeShift - PackedAccess::kBytesShift)) - 1;

// What a word differs in from the tag; bits of the bytes field: bytes that it lacks.
template <bool kIsWrite>
[[gnu::always_inline]] inline uint64_t DifferenceToTag(uint64_t word) {
  const uint64_t label = word >> PackedAccess::kBytesShift;
  return (kIsWrite ? label : label | kWriteBit) ^ local.tag;
}

// Does all agree that matters for an access to `needed` of a granule's bytes?
inline bool IsHit(uint64_t difference, uint64_t needed) { return (difference & (~kBytesField | needed)) == 0; }

// The first filter: a word of the plane, if the thread has one, else of the cell. `needed`: of one granule, or if kIsLong of several, 8 bits
// each; of more than two it knows nothing.
template <bool kHasPlanes, bool kIsWrite, bool kIsLong>
[[gnu::always_inline]] inline bool IsKnown(const void* p, uint64_t needed) {
  const auto addr = reinterpret_cast<uint64_t>(p);
  const bool is_one = !kIsLong || needed <= kBytesField;
  if (kIsLong && needed > 0xffff) return false;
  const auto is_hit = [&](const uint64_t* word, int step) __attribute__((always_inline)) {
    if (!IsHit(DifferenceToTag<kIsWrite>(__atomic_load_n(word, __ATOMIC_RELAXED)), needed & kBytesField)) return false;
    return is_one || IsHit(DifferenceToTag<kIsWrite>(__atomic_load_n(word + step, __ATOMIC_RELAXED)), needed >> 8);
  };
  if constexpr (kHasPlanes && !kIsWrite) {
    if (const uint64_t* word = Planes::Recall(local.planes, addr)) {
      const bool is_last = Planes::WordOf(addr) == Planes::kWords - 1;  // the next one is in another plane
      return (is_one || !is_last) && is_hit(word, 1);
    }
  }
  return is_hit(reinterpret_cast<const uint64_t*>(local.cells + (addr & local.fold) * 2) + (kIsWrite ? 0 : 1), 2);
}

// The same of one granule, of the word that the cell has for this kind of access.
template <bool kIsWrite>
[[gnu::always_inline]] inline bool IsKnownToCell(const void* p, uint64_t needed) {
  const uint64_t at = (reinterpret_cast<uint64_t>(p) & local.fold) * 2;
  const auto* words = reinterpret_cast<const uint64_t*>(local.cells + at);
  return IsHit(DifferenceToTag<kIsWrite>(__atomic_load_n(words + (kIsWrite ? 0 : 1), __ATOMIC_RELAXED)), needed);
}

// The bytes of an access: in its granule, in the next one, and so on, 8 bits each.
template <int kSize>
inline uint64_t NeededOf(const void* p) {
  return ((uint64_t{1} << kSize) - 1) << (reinterpret_cast<uint64_t>(p) & 7);
}

// The same of an aligned one.
template <int kSize>
inline uint64_t AlignedOf(const void* p) {
  return kSize == 8 ? kBytesField : NeededOf<kSize>(p) & kBytesField;
}

}  // namespace redflag::rt
