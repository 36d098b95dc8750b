// One memory access as a detector sees it, and the two relations between kinds of access that every detector
// relies on: which pairs conflict, and which kind makes another redundant.
#pragma once

#include <cstdint>

#include "base/ids.h"

namespace redflag {

// Detectors see memory in granules of 8 aligned bytes; a ByteMask picks bytes of one granule (bit i = byte
// i).
inline constexpr uint64_t kGranule = 8;
enum class ByteMask : uint8_t {};
inline constexpr ByteMask kNoBytes{0};
inline constexpr ByteMask kAllBytes{0xff};

constexpr ByteMask operator&(ByteMask a, ByteMask b) { return ByteMask(Raw(a) & Raw(b)); }
constexpr ByteMask operator|(ByteMask a, ByteMask b) { return ByteMask(Raw(a) | Raw(b)); }
constexpr ByteMask operator~(ByteMask a) { return ByteMask(~Raw(a) & 0xff); }
constexpr bool Any(ByteMask mask) { return mask != kNoBytes; }
constexpr bool Contains(ByteMask outer, ByteMask inner) { return (inner & ~outer) == kNoBytes; }

constexpr Addr GranuleOf(Addr addr) { return Addr{Raw(addr) & ~(kGranule - 1)}; }
// The bytes of the granule of `addr` that [addr, addr + size) covers.
constexpr ByteMask MaskOf(Addr addr, uint64_t size) {
  const uint64_t offset = Raw(addr) & (kGranule - 1);
  const uint64_t room = kGranule - offset;
  const uint64_t bytes = size < room ? size : room;
  return ByteMask(static_cast<uint8_t>(((uint32_t{1} << bytes) - 1) << offset));
}

// Bit 0: not atomic. Bit 1: writes. Strength is inclusion of bits, so the lattice is
//   atomic read < read < write   and   atomic read < atomic write < write.
enum class AccessKind : uint8_t { kAtomicRead = 0, kRead = 1, kAtomicWrite = 2, kWrite = 3 };

constexpr bool IsWrite(AccessKind kind) { return Raw(kind) & 2; }
constexpr bool IsAtomic(AccessKind kind) { return !(Raw(kind) & 1); }

// [intro.races]: two accesses conflict if one modifies and not both are atomic.
constexpr bool Conflicts(AccessKind a, AccessKind b) {
  return (IsWrite(a) || IsWrite(b)) && !(IsAtomic(a) && IsAtomic(b));
}

// Whatever conflicts with `weak` conflicts with `strong` too: if an access of kind `weak` is ordered before
// one of kind `strong`, remembering the later one is enough.
constexpr bool Covers(AccessKind strong, AccessKind weak) { return (Raw(weak) & ~Raw(strong)) == 0; }

// What the program was doing; the conflict rules do not depend on it, reports do.
enum class AccessOrigin : uint8_t { kProgram, kTransaction, kAlloc, kFree };

// What becomes of an access that races. All but the first are for engines that let programs decide (runtime/policy.h), and for detectors
// that say so (kCanRefuse); others take them for the first.
enum class IfRacy : uint8_t {
  kReported,  // it happens, and its racy bytes are not looked at again in this lifetime
  kGoesOn,  // it happens, and its bytes are looked at as before: a write is all that is remembered of the racy ones, a read is not
  kRefused,  // it does not happen: nothing is remembered of it
  kAsked,    // nothing happens now, whether it races or not
};

// An access to bytes of one granule, or alike to the bytes of several consecutive ones (a free of untouched memory).
struct Access {
  Addr granule{};
  uint64_t granules = 1;
  Addr object{};             // for detectors that keep a cell for each object: the object that holds the bytes ...
  uint64_t object_size = 0;  // ... and its size
  ByteMask bytes{};
  AccessKind kind{};
  AccessOrigin origin = AccessOrigin::kProgram;
  IfRacy if_racy = IfRacy::kReported;
  ContextId context = kNoContext;
};

}  // namespace redflag
