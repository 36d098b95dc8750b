// Vector: a growing array of trivially copyable elements in an Arena. For in-process tables and per-thread
// lists. Not thread-safe: the owner locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/arena.h"

namespace redflag {

template <class T, class Mem>
class Vector {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  explicit Vector(Arena<Mem>& arena) : arena_(arena) {}
  ~Vector() {
    if (capacity_ != 0) arena_.Free(data_, capacity_ * sizeof(T));
  }
  Vector(const Vector&) = delete;
  Vector& operator=(const Vector&) = delete;

  Arena<Mem>& arena() const { return arena_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& back() { return data_[size_ - 1]; }

  void Push(const T& value) {
    if (size_ == capacity_) Grow();
    data_[size_++] = value;
  }
  void Insert(size_t index, const T& value) {
    Push(value);
    for (size_t i = size_ - 1; i > index; --i) data_[i] = data_[i - 1];
    data_[index] = value;
  }
  void Remove(size_t index) {
    for (size_t i = index + 1; i < size_; ++i) data_[i - 1] = data_[i];
    --size_;
  }
  void Clear() { size_ = 0; }

 private:
  void Grow() {
    const size_t capacity = capacity_ == 0 ? (sizeof(T) <= 16 ? 4 : 2) : capacity_ * 2;
    T* data = static_cast<T*>(arena_.Allocate(capacity * sizeof(T)));
    for (size_t i = 0; i < size_; ++i) data[i] = data_[i];
    if (capacity_ != 0) arena_.Free(data_, capacity_ * sizeof(T));
    data_ = data;
    capacity_ = capacity;
  }

  Arena<Mem>& arena_;
  T* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace redflag
