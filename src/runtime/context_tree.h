// ContextTree: every call stack that mattered, as a tree. A node is a place in the code and the node of its caller; a stack is
// named by its innermost node, 24 bits. Nodes are made when somebody records an access, shared by all threads, and never
// change or go.
//
// Three kinds of node stand for something else than a call, told by the upper bits of their place:
//   under   the context `caller`, with the locks of a chain held
//   held    one more lock in a chain: the context in which it was taken; `caller` is the rest of the chain
//   mixed   of one granule, some bytes were accessed in one context and the others in the context `caller`; either may be mixed
//
// Lookups take no lock. When the tree is full, new stacks share the node kFull, and that is counted.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "base/hash_map.h"
#include "base/ids.h"
#include "clocks/packed_access.h"
#include "events/place.h"

namespace redflag::rt {

class ContextTree {
 public:
  static constexpr uint32_t kMaxNodes = PackedAccess::kMaxContext;
  static constexpr ContextId kFull{kMaxNodes};

  void Start() {
    nodes_ = static_cast<Node*>(MapPages((uint64_t{kMaxNodes} + 1) * sizeof(Node)));
    buckets_ = static_cast<uint32_t*>(MapPages(kBuckets * sizeof(uint32_t)));
    __atomic_store_n(&used_, 2, __ATOMIC_RELEASE);  // 0 is the root, 1 kIgnoredContext (local.h)
  }

  // The node of `place` called from `caller`.
  ContextId Child(ContextId caller, uint64_t place) {
    uint32_t& bucket = buckets_[HashKey(place * 0x9e3779b97f4a7c15u ^ Raw(caller)) % kBuckets];
    uint32_t head = __atomic_load_n(&bucket, __ATOMIC_ACQUIRE);
    uint32_t seen = 0;
    uint32_t fresh = 0;
    for (;;) {
      for (uint32_t id = head; id != seen; id = nodes_[id].next) {
        if (nodes_[id].place == place && nodes_[id].caller == caller) return ContextId{id};
      }
      if (fresh == 0) {
        fresh = __atomic_fetch_add(&used_, 1, __ATOMIC_RELAXED);
        if (fresh >= kMaxNodes) {
          __atomic_store_n(&used_, kMaxNodes, __ATOMIC_RELAXED);
          __atomic_fetch_add(&lost_, 1, __ATOMIC_RELAXED);
          return kFull;
        }
        nodes_[fresh].place = place;
        nodes_[fresh].caller = caller;
      }
      nodes_[fresh].next = head;
      seen = head;
      if (__atomic_compare_exchange_n(&bucket, &head, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        return ContextId{fresh};
      }
      // Somebody added nodes: look at those, down to where this look began.
    }
  }

  // Places of the nodes that are no calls.
  static constexpr uint64_t Under(ContextId chain) { return static_cast<uint64_t>(PlaceFlag::kUnder) | Raw(chain); }
  static constexpr uint64_t Held(ContextId taken_at) { return static_cast<uint64_t>(PlaceFlag::kHeld) | Raw(taken_at); }
  static constexpr uint64_t Mixed(ContextId context, ByteMask bytes) {
    return static_cast<uint64_t>(PlaceFlag::kMixed) | uint64_t{Raw(bytes)} << 32 | Raw(context);
  }

  // The context itself, and the chain of locks that it was under.
  struct Parts {
    ContextId calls;
    ContextId chain;
  };
  Parts PartsOf(ContextId id) const {
    if (FlagOf(PlaceOf(id)) != PlaceFlag::kUnder) return {id, kNoContext};
    return {CallerOf(id), ContextId{static_cast<uint32_t>(PlaceOf(id))}};
  }

  // Calls visit(context, bytes) for each context in which some of `bytes` were accessed.
  template <class Visitor>
  void ForEachSource(ContextId id, ByteMask bytes, const Visitor& visit) const {
    while (FlagOf(PlaceOf(id)) == PlaceFlag::kMixed) {
      const auto theirs = ByteMask(PlaceOf(id) >> 32);
      if (Any(bytes & theirs)) ForEachSource(ContextId{static_cast<uint32_t>(PlaceOf(id))}, bytes & theirs, visit);
      bytes = bytes & ~theirs;
      id = CallerOf(id);
    }
    if (Any(bytes)) visit(id, bytes);
  }

  uint64_t PlaceOf(ContextId id) const { return nodes_[Raw(id)].place; }
  ContextId CallerOf(ContextId id) const { return nodes_[Raw(id)].caller; }

  uint32_t size() const {
    const uint32_t used = __atomic_load_n(&used_, __ATOMIC_RELAXED);
    return used < kMaxNodes ? used : kMaxNodes;
  }
  uint64_t lost() const { return __atomic_load_n(&lost_, __ATOMIC_RELAXED); }

 private:
  static constexpr uint64_t kBuckets = uint64_t{1} << 18;

  struct Node {
    uint64_t place;
    ContextId caller;
    uint32_t next;  // in the same bucket
  };

  Node* nodes_ = nullptr;
  uint32_t* buckets_ = nullptr;
  uint32_t used_ = 0;
  uint64_t lost_ = 0;
};

}  // namespace redflag::rt
