// Arena: the only allocator of in-process code. Memory comes from mmap, never from malloc; blocks are rounded
// to powers of two and recycled through one free list a size; everything goes back to the system when the
// arena is destroyed. A constant-initialized Arena is usable before any constructor has run.
//
// Thread-safe under AtomicMem. Blocks are zeroed when fresh from the system only: Allocate() gives no
// promise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "base/check.h"
#include "base/mem.h"

namespace redflag {

// Pages from the system, zeroed. Fails a check when the system has none.
void* MapPages(size_t bytes);
void UnmapPages(void* pages, size_t bytes);
void ForgetPages(void* pages, size_t bytes);  // they read as zero again

template <class Mem>
class Arena {
 public:
  constexpr Arena() = default;
  ~Arena() {
    Recycle();
    while (recycled_ != nullptr) {
      Region* next = recycled_->next;
      UnmapPages(recycled_, recycled_->bytes);
      recycled_ = next;
    }
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // 16-byte aligned, uninitialized.
  void* Allocate(size_t bytes) {
    const int size_class = SizeClass(bytes);
    ScopedLock guard(lock_);
    in_use_ += size_t{1} << size_class;
    FreeBlock*& head = free_[size_class];
    if (head != nullptr) {
      FreeBlock* block = head;
      head = block->next;
      return block;
    }
    return Carve(size_t{1} << size_class);
  }

  // `bytes` as it was given to Allocate.
  void Free(void* memory, size_t bytes) {
    const int size_class = SizeClass(bytes);
    ScopedLock guard(lock_);
    in_use_ -= size_t{1} << size_class;
    auto* block = static_cast<FreeBlock*>(memory);
    block->next = free_[size_class];
    free_[size_class] = block;
  }

  template <class T>
  T* New() {
    static_assert(alignof(T) <= kMinBlock);
    return ::new (Allocate(sizeof(T))) T();
  }
  template <class T>
  void Delete(T* object) {
    object->~T();
    Free(object, sizeof(T));
  }

  // Everything that was handed out is given back at once. It stays mapped, and is handed out again.
  void Recycle() {
    ScopedLock guard(lock_);
    for (FreeBlock*& head : free_) head = nullptr;
    in_use_ = 0;
    next_ = end_ = nullptr;
    while (regions_ != nullptr) {
      Region* region = regions_;
      regions_ = region->next;
      region->next = recycled_;
      recycled_ = region;
    }
  }

  // Bytes handed out and not given back, rounding included; and bytes taken from the system.
  size_t in_use() const { return in_use_; }
  size_t mapped() const { return mapped_; }

 private:
  static constexpr size_t kMinBlock = 16;
  static constexpr size_t kFirstRegion = size_t{64} << 10;
  static constexpr size_t kRegion = size_t{1} << 20;
  static constexpr int kClasses = 48;

  struct FreeBlock {
    FreeBlock* next;
  };
  struct alignas(64) Region {  // blocks of 32 bytes and more are aligned to 32, if an arena has no smaller ones
    Region* next;
    size_t bytes;
  };

  static int SizeClass(size_t bytes) {
    if (bytes <= kMinBlock) return 4;
    const int size_class = 64 - __builtin_clzll(bytes - 1);
    REDFLAG_CHECK(size_class < kClasses);
    return size_class;
  }

  // The rest of a region that is too small for the request is left unused: regions are large, requests are
  // not.
  void* Carve(size_t bytes) {
    while (static_cast<size_t>(end_ - next_) < bytes && recycled_ != nullptr) {
      Region* region = recycled_;
      recycled_ = region->next;
      Begin(region);
    }
    if (static_cast<size_t>(end_ - next_) < bytes) {
      size_t want = regions_ == nullptr ? kFirstRegion : kRegion;
      if (want < bytes + sizeof(Region)) want = (bytes + sizeof(Region) + 4095) & ~size_t{4095};
      auto* region = static_cast<Region*>(MapPages(want));
      mapped_ += want;
      region->bytes = want;
      Begin(region);
    }
    void* block = next_;
    next_ += bytes;
    return block;
  }
  void Begin(Region* region) {
    region->next = regions_;
    regions_ = region;
    next_ = reinterpret_cast<char*>(region + 1);
    end_ = reinterpret_cast<char*>(region) + region->bytes;
  }

  typename Mem::Lock lock_;
  char* next_ = nullptr;
  char* end_ = nullptr;
  Region* regions_ = nullptr;
  Region* recycled_ = nullptr;
  size_t in_use_ = 0;
  size_t mapped_ = 0;
  FreeBlock* free_[kClasses] = {};
};

}  // namespace redflag
