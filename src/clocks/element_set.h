// ElementSet: a lockset as Goldilocks means it, the set LS(x) of everything that makes its holder an owner of x. The first few
// elements lie in place, because most locksets never grow; more of them in a hash table.
//
// In-process: memory from the Arena that the calls take; Free() gives it back. Not thread-safe: the owner locks.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "clocks/sync_event_list.h"

namespace redflag {

template <class Mem>
class ElementSet {
 public:
  explicit ElementSet(Element first) : size_(1), in_place_{first} {}

  // Back to the empty set.
  void Free(Arena<Mem>& arena) {
    if (is_spilled()) arena.Free(spilled_, (mask_ + 1) * sizeof(Element));
    mask_ = size_ = 0;
  }

  uint32_t size() const { return size_; }

  bool Contains(Element element) const {
    if (is_spilled()) return spilled_[PlaceOf(element)] == element;
    for (uint32_t i = 0; i < size_; ++i) {
      if (in_place_[i] == element) return true;
    }
    return false;
  }

  void Add(Arena<Mem>& arena, Element element) {
    if (Contains(element)) return;
    if (is_spilled() ? size_ * 2 > mask_ : size_ == kInPlace) Grow(arena);
    ++size_;
    if (is_spilled()) {
      spilled_[PlaceOf(element)] = element;
    } else {
      in_place_[size_ - 1] = element;
    }
  }

  void Remove(Element element) {
    if (!Contains(element)) return;
    --size_;
    if (is_spilled()) {
      CloseGap(PlaceOf(element));
      return;
    }
    uint32_t i = 0;
    while (in_place_[i] != element) ++i;
    in_place_[i] = in_place_[size_];
  }

  // Calls visit(element) for each, in no particular order.
  template <class Visitor>
  void ForEach(Visitor visit) const {
    if (!is_spilled()) {
      for (uint32_t i = 0; i < size_; ++i) visit(in_place_[i]);
      return;
    }
    for (uint32_t i = 0; i <= mask_; ++i) {
      if (spilled_[i] != kNoElement) visit(spilled_[i]);
    }
  }

 private:
  static constexpr uint32_t kInPlace = 4;

  bool is_spilled() const { return mask_ != 0; }

  uint32_t HomeOf(Element element) const {
    return static_cast<uint32_t>((Raw(element) * 0x9e3779b97f4a7c15u) >> 32) & mask_;
  }
  // Where it is, or where it would go.
  uint32_t PlaceOf(Element element) const {
    uint32_t i = HomeOf(element);
    while (spilled_[i] != kNoElement && spilled_[i] != element) i = (i + 1) & mask_;
    return i;
  }

  // Moves later elements of the same run back, so that there are no tombstones.
  void CloseGap(uint32_t gap) {
    for (uint32_t i = (gap + 1) & mask_; spilled_[i] != kNoElement; i = (i + 1) & mask_) {
      if (((i - HomeOf(spilled_[i])) & mask_) < ((i - gap) & mask_)) continue;
      spilled_[gap] = spilled_[i];
      gap = i;
    }
    spilled_[gap] = kNoElement;
  }

  void Grow(Arena<Mem>& arena) {
    ElementSet grown;
    grown.mask_ = is_spilled() ? mask_ * 2 + 1 : kInPlace * 4 - 1;
    grown.size_ = size_;
    grown.spilled_ = static_cast<Element*>(arena.Allocate((grown.mask_ + 1) * sizeof(Element)));
    for (uint32_t i = 0; i <= grown.mask_; ++i) grown.spilled_[i] = kNoElement;
    ForEach([&](Element element) { grown.spilled_[grown.PlaceOf(element)] = element; });
    Free(arena);
    *this = grown;
  }

  ElementSet() = default;

  uint32_t size_ = 0;
  uint32_t mask_ = 0;  // the size of the table less one; 0: in place
  union {
    Element in_place_[kInPlace] = {};
    Element* spilled_;
  };
};

}  // namespace redflag
