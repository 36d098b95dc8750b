// KnownContexts: the contexts that a thread has asked for lately, so that it need not ask the tree that all threads share (context_tree.h): one look for each access that is recorded.
//
// A word for each: [ 40 bits of a number that tells what was asked for ][ 24: the node ]. Few bytes, because there are tens of thousands of contexts in large programs, and all that threads have of their own
// competes with cells and records for the caches. Each has a pair of words to stand in: whoever comes takes the first, and who was there moves on. If many are pushed out the table doubles; what was
// remembered is then found where it was, or asked for anew.
//
// By number and place 52 bits and more tell contexts apart: what is not in the table is taken for something else once in 2^39 times.
//
// Used by its own thread. All-zero memory is an empty table.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "clocks/packed_access.h"

namespace redflag::rt {

class KnownContexts {
  struct Pair {
    uint64_t first, second;
  };

 public:
  static constexpr uint32_t kFewest = 1u << 12, kMost = 1u << 16;  // pairs of words
  static constexpr uint64_t kBytes = kMost * sizeof(Pair);

  // In memory of kBytes, aligned to a line of the cache and all zero.
  explicit KnownContexts(void* memory) : pairs_(static_cast<Pair*>(memory)) {}

  // What is asked for: of `number` the upper 40 bits count, of `place` the lower ones, and they don't tell the same.
  struct Key {
    uint64_t number;
    uint64_t place;
  };
  static Key Of(uint64_t mixed) { return {.number = mixed, .place = mixed ^ mixed >> 32}; }

  // An instruction in a call that `frame` stands for.
  [[gnu::always_inline]] static Key OfAccess(uint64_t frame, uint64_t instruction) {
    const uint64_t mixed = (frame ^ instruction) * 0xbf58476d1ce4e5b9u;
    return {.number = mixed, .place = mixed >> 8};  // what the number does not tell
  }

  // kNoContext: it is not known.
  [[gnu::always_inline]] ContextId Find(Key key) const {
    const Pair& pair = pairs_[key.place & mask_];
    const uint64_t wanted = key.number & ~kNode;
    if (const uint64_t first = pair.first ^ wanted; first <= kNode) return ContextId{static_cast<uint32_t>(first)};
    const uint64_t second = pair.second ^ wanted;
    return second <= kNode ? ContextId{static_cast<uint32_t>(second)} : kNoContext;
  }

  void Add(Key key, ContextId node) {
    Pair* pair = &pairs_[key.place & mask_];
    if (pair->second != 0 && ++pushed_out_ > mask_ && mask_ + 1 < kMost) {
      mask_ = mask_ * 2 + 1;
      pushed_out_ = 0;
      pair = &pairs_[key.place & mask_];
    }
    pair->second = pair->first;
    pair->first = (key.number & ~kNode) | Raw(node);
  }

  uint64_t size() const { return mask_ + 1; }  // pairs that are in use

 private:
  static constexpr uint64_t kNode = PackedAccess::kMaxContext;

  uint64_t mask_ = kFewest - 1;
  uint64_t pushed_out_ = 0;
  Pair* const pairs_;
};

}  // namespace redflag::rt
