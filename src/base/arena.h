// Arena: the only allocator of in-process code. Memory comes from mmap, never from malloc; blocks are rounded
// to powers of two and recycled through one free list a size; everything goes back to the system when the
// arena is destroyed. A constant-initialized Arena is usable before any constructor has run.
//
// Thread-safe under AtomicMem, where it is cut into parts (base/mem.h), so that threads seldom meet. Blocks are
// zeroed when fresh from the system only: Allocate() gives no promise.
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
    for (Shard& shard : shards_) shard.Unmap();
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // 16-byte aligned, uninitialized.
  void* Allocate(size_t bytes) { return shards_[Mem::Shard()].Allocate(SizeClass(bytes)); }

  // `bytes` as it was given to Allocate.
  void Free(void* memory, size_t bytes) { shards_[Mem::Shard()].Free(memory, SizeClass(bytes)); }

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
    for (Shard& shard : shards_) shard.Recycle();
  }

  // Bytes handed out and not given back, rounding included; and bytes taken from the system.
  size_t in_use() const {
    size_t sum = 0;  // a part that got back what another gave is below zero
    for (const Shard& shard : shards_) sum += shard.in_use;
    return sum;
  }
  size_t mapped() const {
    size_t sum = 0;
    for (const Shard& shard : shards_) sum += shard.mapped;
    return sum;
  }

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

  struct alignas(64) Shard {
    void* Allocate(int size_class) {
      ScopedLock guard(lock);
      in_use += size_t{1} << size_class;
      FreeBlock*& head = free[size_class];
      if (head != nullptr) {
        FreeBlock* block = head;
        head = block->next;
        return block;
      }
      return Carve(size_t{1} << size_class);
    }

    void Free(void* memory, int size_class) {
      ScopedLock guard(lock);
      in_use -= size_t{1} << size_class;
      auto* block = static_cast<FreeBlock*>(memory);
      block->next = free[size_class];
      free[size_class] = block;
    }

    void Recycle() {
      ScopedLock guard(lock);
      for (FreeBlock*& head : free) head = nullptr;
      in_use = 0;
      next = end = nullptr;
      while (regions != nullptr) {
        Region* region = regions;
        regions = region->next;
        region->next = recycled;
        recycled = region;
      }
    }

    void Unmap() {
      Recycle();
      while (recycled != nullptr) {
        Region* after = recycled->next;
        UnmapPages(recycled, recycled->bytes);
        recycled = after;
      }
    }

    // The rest of a region that is too small for the request is left unused: regions are large, requests are
    // not.
    void* Carve(size_t bytes) {
      while (static_cast<size_t>(end - next) < bytes && recycled != nullptr) {
        Region* region = recycled;
        recycled = region->next;
        Begin(region);
      }
      if (static_cast<size_t>(end - next) < bytes) {
        size_t want = regions == nullptr ? kFirstRegion : kRegion;
        if (want < bytes + sizeof(Region)) want = (bytes + sizeof(Region) + 4095) & ~size_t{4095};
        auto* region = static_cast<Region*>(MapPages(want));
        mapped += want;
        region->bytes = want;
        Begin(region);
      }
      void* block = next;
      next += bytes;
      return block;
    }
    void Begin(Region* region) {
      region->next = regions;
      regions = region;
      next = reinterpret_cast<char*>(region + 1);
      end = reinterpret_cast<char*>(region) + region->bytes;
    }

    typename Mem::Lock lock;
    char* next = nullptr;
    char* end = nullptr;
    Region* regions = nullptr;
    Region* recycled = nullptr;
    size_t in_use = 0;
    size_t mapped = 0;
    FreeBlock* free[kClasses] = {};
  };

  Shard shards_[Mem::kShards];
};

}  // namespace redflag
