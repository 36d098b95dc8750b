// Places: what the nodes of a calling context are made of (runtime/context_tree.h), in the running program and in recordings of it. A place
// is an address in the code; its upper byte says what an access was beside its address and kind, so that reports know, or what the node is.
//
// In-process rules.
#pragma once

#include <cstdint>

namespace redflag {

enum class PlaceFlag : uint64_t {
  kNone = 0,
  kVptr = uint64_t{1} << 56,
  kAlloc = uint64_t{2} << 56,
  kFree = uint64_t{3} << 56,
  kUnder = uint64_t{4} << 56,
  kHeld = uint64_t{5} << 56,
  kMixed = uint64_t{6} << 56,
};
inline constexpr uint64_t kPlaceMask = (uint64_t{1} << 56) - 1;
constexpr PlaceFlag FlagOf(uint64_t place) { return static_cast<PlaceFlag>(place & ~kPlaceMask); }

// The context that a node other than a call names in its place: the chain, where the lock was taken, one of those mixed.
constexpr uint32_t ContextInPlace(uint64_t place) { return static_cast<uint32_t>(place); }

// An access that was labelled with a kind of object (runtime/abi_external.cc), by number from 1.
inline constexpr uint32_t kMaxTags = 200;
constexpr uint64_t PlaceWithTag(uint64_t place, uint32_t tag) { return place | uint64_t{tag + 15} << 56; }
constexpr uint32_t TagOfPlace(uint64_t place) { return place >> 56 > 15 ? static_cast<uint32_t>(place >> 56) - 15 : 0; }

}  // namespace redflag
