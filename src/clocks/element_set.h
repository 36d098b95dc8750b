// ElementSet: a lockset as Goldilocks means it, the set LS(x) of everything that makes its holder an owner of x. Sorted;
// the first few elements lie in place, because most locksets never grow. Keeps a hash of its contents up to date, so that
// equal sets are found without comparing.
//
// In-process: memory from the Arena that the calls take; Free() gives it back. Not thread-safe: the owner locks.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "base/hash_map.h"
#include "clocks/sync_event_list.h"

namespace redflag {

template <class Mem>
class ElementSet {
 public:
  explicit ElementSet(Element first) : hash_(HashKey(Raw(first))), size_(1), in_place_{first} {}
  void Free(Arena<Mem>& arena) {
    if (capacity_ != kInPlace) arena.Free(spilled_, capacity_ * sizeof(Element));
    capacity_ = kInPlace;
    size_ = 0;
  }

  const Element* begin() const { return data(); }
  const Element* end() const { return data() + size_; }
  uint32_t size() const { return size_; }
  uint64_t hash() const { return hash_; }

  bool Contains(Element element) const {
    const uint32_t i = Find(element);
    return i < size_ && data()[i] == element;
  }

  void Add(Arena<Mem>& arena, Element element) {
    const uint32_t place = Find(element);
    if (place < size_ && data()[place] == element) return;
    if (size_ == capacity_) Grow(arena);
    Element* elements = data();
    for (uint32_t i = size_; i > place; --i) elements[i] = elements[i - 1];
    elements[place] = element;
    ++size_;
    hash_ ^= HashKey(Raw(element));
  }

  void Remove(Element element) {
    const uint32_t place = Find(element);
    Element* elements = data();
    if (place == size_ || elements[place] != element) return;
    --size_;
    for (uint32_t i = place; i < size_; ++i) elements[i] = elements[i + 1];
    hash_ ^= HashKey(Raw(element));
  }

  bool operator==(const ElementSet& other) const {
    if (hash_ != other.hash_ || size_ != other.size_) return false;
    for (uint32_t i = 0; i < size_; ++i) {
      if (data()[i] != other.data()[i]) return false;
    }
    return true;
  }

 private:
  static constexpr uint32_t kInPlace = 4;

  const Element* data() const { return capacity_ == kInPlace ? in_place_ : spilled_; }
  Element* data() { return capacity_ == kInPlace ? in_place_ : spilled_; }

  // The first place whose element is not below this one.
  uint32_t Find(Element element) const {
    const Element* elements = data();
    uint32_t low = 0;
    uint32_t high = size_;
    while (high - low > kInPlace) {
      const uint32_t middle = (low + high) / 2;
      if (elements[middle] < element) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    while (low < high && elements[low] < element) ++low;
    return low;
  }

  void Grow(Arena<Mem>& arena) {
    const uint32_t capacity = capacity_ * 2;
    auto* elements = static_cast<Element*>(arena.Allocate(capacity * sizeof(Element)));
    for (uint32_t i = 0; i < size_; ++i) elements[i] = data()[i];
    if (capacity_ != kInPlace) arena.Free(spilled_, capacity_ * sizeof(Element));
    spilled_ = elements;
    capacity_ = capacity;
  }

  uint64_t hash_;
  uint32_t size_;
  uint32_t capacity_ = kInPlace;
  union {
    Element in_place_[kInPlace];
    Element* spilled_;
  };
};

}  // namespace redflag
