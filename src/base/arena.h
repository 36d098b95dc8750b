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
  void* Allocate(size_t bytes) {
    const int size_class = SizeClass(bytes);
    Shard& shard = shards_[Mem::Shard()];
    void* block = shard.Take(size_class, Mem::kShards == 1);
    return block != nullptr ? block : AllocateElsewhere(shard, size_class);
  }

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

  // Some of one free list.
  struct Batch {
    static constexpr int kMost = 64;
    FreeBlock* first = nullptr;
    FreeBlock* last = nullptr;
  };

  struct alignas(64) Shard {
    // Null: there is none without more from the system, which it may not ask.
    void* Take(int size_class, bool may_map) {
      ScopedLock guard(lock);
      void* block = free[size_class];
      if (block != nullptr) {
        SetFree(size_class, free[size_class]->next);
      } else {
        block = Carve(size_t{1} << size_class, may_map);
      }
      if (block != nullptr) in_use += size_t{1} << size_class;
      return block;
    }

    void Free(void* memory, int size_class) {
      ScopedLock guard(lock);
      in_use -= size_t{1} << size_class;
      auto* block = static_cast<FreeBlock*>(memory);
      block->next = free[size_class];
      SetFree(size_class, block);
    }

    Batch TakeBatch(int size_class) {
      if (__atomic_load_n(&free[size_class], __ATOMIC_RELAXED) == nullptr) return {};  // most are: no lock for them
      ScopedLock guard(lock);
      Batch batch{.first = free[size_class], .last = free[size_class]};
      if (batch.first == nullptr) return {};
      for (int i = 1; i < Batch::kMost && batch.last->next != nullptr; ++i) batch.last = batch.last->next;
      SetFree(size_class, batch.last->next);
      return batch;
    }

    void PutBatch(const Batch& batch, int size_class) {
      ScopedLock guard(lock);
      batch.last->next = free[size_class];
      SetFree(size_class, batch.first);
    }

    void Recycle() {
      ScopedLock guard(lock);
      for (int size_class = 0; size_class < kClasses; ++size_class) SetFree(size_class, nullptr);
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
    void* Carve(size_t bytes, bool may_map) {
      while (static_cast<size_t>(end - next) < bytes && recycled != nullptr) {
        Region* region = recycled;
        recycled = region->next;
        Begin(region);
      }
      if (static_cast<size_t>(end - next) < bytes) {
        if (!may_map) return nullptr;
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

    // Under the lock; TakeBatch of another part looks without.
    void SetFree(int size_class, FreeBlock* head) { __atomic_store_n(&free[size_class], head, __ATOMIC_RELAXED); }

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

  // What one thread allocates may always be freed by another, in another part: what was given back there is taken before the system is asked, or
  // the one part would grow for ever.
  [[gnu::noinline]] void* AllocateElsewhere(Shard& own, int size_class) {
    for (Shard& other : shards_) {
      if (&other == &own) continue;
      if (const Batch batch = other.TakeBatch(size_class); batch.first != nullptr) {
        own.PutBatch(batch, size_class);
        break;
      }
    }
    return own.Take(size_class, true);
  }

  Shard shards_[Mem::kShards];
};

}  // namespace redflag
