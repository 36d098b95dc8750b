// HashMap: 64-bit keys to small trivially copyable values; open addressing, linear probing, memory from an
// Arena. For in-process tables (std::unordered_map allocates with malloc). Not thread-safe: the owner locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/arena.h"

namespace redflag {

// Mixes all bits of a key into all bits of the result (the finalizer of a 64-bit multiply-xorshift hash).
constexpr uint64_t HashKey(uint64_t key) {
  key ^= key >> 32;
  key *= 0xd6e8feb86659fd93u;
  key ^= key >> 32;
  key *= 0xd6e8feb86659fd93u;
  key ^= key >> 32;
  return key;
}

template <class Value, class Mem>
class HashMap {
  static_assert(std::is_trivially_copyable_v<Value> && std::is_trivially_destructible_v<Value>);

 public:
  explicit HashMap(Arena<Mem>& arena) : arena_(arena) {}
  ~HashMap() {
    if (capacity_ != 0) arena_.Free(entries_, capacity_ * sizeof(Entry));
  }
  HashMap(const HashMap&) = delete;
  HashMap& operator=(const HashMap&) = delete;

  size_t size() const { return size_; }

  // Null if absent. The pointer is good until the next Insert or Erase.
  Value* Find(uint64_t key) {
    if (capacity_ == 0) return nullptr;
    for (size_t i = Home(key);; i = (i + 1) & (capacity_ - 1)) {
      if (!entries_[i].used) return nullptr;
      if (entries_[i].key == key) return &entries_[i].value;
    }
  }

  // The value of `key`, inserted as Value{} if absent.
  Value& Insert(uint64_t key) {
    if (Value* found = Find(key)) return *found;
    if ((size_ + 1) * 4 > capacity_ * 3) Grow();
    ++size_;
    Entry& entry = FreeEntry(key);
    entry = Entry{.key = key, .used = true, .value = Value{}};
    return entry.value;
  }

  // Closes the gap by moving later entries of the same run back: no tombstones, so lookups never degrade.
  bool Erase(uint64_t key) {
    Value* found = Find(key);
    if (found == nullptr) return false;
    size_t hole = static_cast<size_t>(
        reinterpret_cast<Entry*>(reinterpret_cast<char*>(found) - offsetof(Entry, value)) - entries_);
    for (size_t i = (hole + 1) & (capacity_ - 1); entries_[i].used; i = (i + 1) & (capacity_ - 1)) {
      const size_t distance = (i - Home(entries_[i].key)) & (capacity_ - 1);
      if (distance >= ((i - hole) & (capacity_ - 1))) {
        entries_[hole] = entries_[i];
        hole = i;
      }
    }
    entries_[hole].used = false;
    --size_;
    return true;
  }

  // Keeps its memory.
  void Clear() {
    for (size_t i = 0; i < capacity_; ++i) entries_[i].used = false;
    size_ = 0;
  }

  // Calls visit(key, value) for each entry, in no particular order; visit must not insert or erase.
  template <class Visitor>
  void ForEach(Visitor visit) {
    for (size_t i = 0; i < capacity_; ++i) {
      if (entries_[i].used) visit(entries_[i].key, entries_[i].value);
    }
  }

 private:
  struct Entry {
    uint64_t key;
    bool used;
    Value value;
  };

  size_t Home(uint64_t key) const { return HashKey(key) & (capacity_ - 1); }

  Entry& FreeEntry(uint64_t key) {
    size_t i = Home(key);
    while (entries_[i].used) i = (i + 1) & (capacity_ - 1);
    return entries_[i];
  }

  void Grow() {
    Entry* old = entries_;
    const size_t old_capacity = capacity_;
    capacity_ = old_capacity == 0 ? 16 : old_capacity * 2;
    entries_ = static_cast<Entry*>(arena_.Allocate(capacity_ * sizeof(Entry)));
    for (size_t i = 0; i < capacity_; ++i) entries_[i].used = false;
    for (size_t i = 0; i < old_capacity; ++i) {
      if (old[i].used) FreeEntry(old[i].key) = old[i];
    }
    if (old_capacity != 0) arena_.Free(old, old_capacity * sizeof(Entry));
  }

  Arena<Mem>& arena_;
  Entry* entries_ = nullptr;
  size_t capacity_ = 0;  // a power of two, or zero
  size_t size_ = 0;
};

}  // namespace redflag
