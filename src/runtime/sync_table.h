// SyncTable: the synchronization objects of the program, by address: locks, atomics, semaphores, anything that hands something on.
// The shadow map of syncs holds an index; the object is found with one load and no search.
//
// Who only looks (Locked with kLook) may remember the version of what it saw: while that is the same, there is nothing new.
//
// An object lives until the memory under it is freed or it is destroyed. Whoever works on one holds its lock; one that was
// removed meanwhile is told by `address`.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "base/mem.h"
#include "runtime/lock_order.h"
#include "runtime/shadow.h"
#include "runtime/thread.h"

namespace redflag::rt {

struct alignas(64) SyncObject {  // what is asked of it without its lock is together
  explicit SyncObject(Detector& detector) : sync(detector) {}

  AtomicMem::Lock lock;
  uint32_t version = 0;   // odd while something changes; never the same again
  uint64_t address = 0;   // 0: removed, or never made
  uint32_t next = 0;      // another one in the same granule, or another free one: its index
  SyncId name{};          // of a lock, for sets of locks: never the same again
  Tid owner = kNoThread;  // who holds it exclusively, as far as it is a lock
  bool is_static =
      false;  // of a lock that the program made: it may be used before it is constructed, and after it was destroyed
  bool is_not_static = false;  // it is known that it may not
  bool is_ordered = false;     // LockOrder knows it
  Detector::Sync sync;
  uint32_t readers = 0;  // how many hold it shared
  ContextId taken_at = kNoContext;
  ContextId made_at = kNoContext;  // or first used
  uint64_t own_lock = 0;           // the lock of the program's own making that this is a word of (own_locks.h); 0: none
};

class SyncTable {
 public:
  SyncTable(Shadow& shadow, Detector& detector, LockOrder& order)
      : shadow_(shadow), detector_(detector), order_(order) {}

  // There may be two objects of one address; the second one has this bit set (runtime/announced.h). Both go when the memory goes.
  static constexpr uint64_t kBeside = uint64_t{1} << 62;

  void Start() { objects_ = static_cast<SyncObject*>(MapPages(uint64_t{kMaxObjects} * sizeof(SyncObject))); }

  // The object at an address, locked; made if there is none and `make` says so.
  class Locked {
   public:
    enum Purpose { kChange, kLook };  // kLook: what is not there is not made
    Locked(SyncTable& table, uint64_t address, Purpose purpose = kChange) : purpose_(purpose) {
      for (;;) {
        object_ = table.Find(address, purpose == kChange);
        if (object_ == nullptr) return;
        object_->lock.Acquire();
        if (object_->address == address) break;
        object_->lock.Release();
      }
      if (purpose == kChange) BeginChange(*object_);
    }
    ~Locked() {
      if (object_ == nullptr) return;
      if (purpose_ == kChange) EndChange(*object_);
      object_->lock.Release();
    }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;
    explicit operator bool() const { return object_ != nullptr; }
    SyncObject* operator->() const { return object_; }
    SyncObject& operator*() const { return *object_; }

   private:
    SyncObject* object_;
    const Purpose purpose_;
  };

  // The address of one that `matches`; 0: there is none. Looks at all of them.
  template <class Matches>
  uint64_t FindAddress(Matches matches) const {
    const uint32_t used = __atomic_load_n(&used_, __ATOMIC_ACQUIRE);
    for (uint32_t index = 1; index <= used; ++index) {
      const SyncObject& object = objects_[index];
      if (matches(object.sync)) return __atomic_load_n(&object.address, __ATOMIC_RELAXED);
    }
    return 0;
  }

  // Without its lock: it may be removed, and be another one, at any time.
  const SyncObject* Peek(uint64_t address) const { return InChain(shadow_.SyncAt(address), address); }

  static void BeginChange(SyncObject& object) {
    __atomic_store_n(&object.version, object.version + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
  }
  static void EndChange(SyncObject& object) { __atomic_store_n(&object.version, object.version + 1, __ATOMIC_RELEASE); }

  // Nobody else works on any: none carries anything any more.
  void ClearAll() {
    for (uint32_t index = 1; index <= used_; ++index) {
      BeginChange(objects_[index]);
      Clear(detector_, objects_[index].sync);
      EndChange(objects_[index]);
    }
  }

  // The objects in [address, address + bytes) are gone.
  void Remove(uint64_t address, uint64_t bytes) {
    if (bytes == 0) return;
    const uint64_t end = address + bytes;
    const auto remove_from = [&](uint32_t* place) {
      if (__atomic_load_n(place, __ATOMIC_RELAXED) != 0) RemoveFrom(place, address, end);
    };
    uint32_t* place = shadow_.SyncAt(address);
    uint32_t* const last = shadow_.SyncAt(end - 1);
    using Two [[gnu::may_alias]] = uint64_t;
    if (reinterpret_cast<uint64_t>(place) % sizeof(Two) != 0) remove_from(place++);
    for (; place < last; place += 2) {  // most have none: two at a glance
      if (__atomic_load_n(reinterpret_cast<Two*>(place), __ATOMIC_RELAXED) == 0) continue;
      remove_from(place);
      remove_from(place + 1);
    }
    if (place == last) remove_from(place);
  }

  // The objects in [from, from + bytes) are at `to` from now on, whatever was there. Nobody works on any. The ranges may overlap: those
  // that lie in the way of others go first.
  void Move(uint64_t from, uint64_t to, uint64_t bytes) {
    if (to > from) {
      Remove(from + bytes > to ? from + bytes : to, from + bytes > to ? to - from : bytes);
      for (uint64_t at = (from + bytes - 1) & ~(kGranule - 1); at + kGranule > from; at -= kGranule) {
        MoveFrom(shadow_.SyncAt(at), from, from + bytes, to - from);
      }
    } else if (to < from) {
      Remove(to, from - to < bytes ? from - to : bytes);
      for (uint64_t at = from & ~(kGranule - 1); at < from + bytes; at += kGranule) {
        MoveFrom(shadow_.SyncAt(at), from, from + bytes, to - from);
      }
    }
  }

 private:
  static constexpr uint32_t kMaxObjects = 1u << 24;

  // Objects in one granule (flags that are neighbours) are a chain. It may change under way: Locked looks again.
  SyncObject* Find(uint64_t address, bool make) {
    uint32_t* place = shadow_.SyncAt(address);
    if (SyncObject* object = InChain(place, address); object != nullptr) return object;
    return make ? Make(place, address) : nullptr;
  }

  SyncObject* InChain(const uint32_t* place, uint64_t address) const {
    uint32_t index = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; index != 0 && i < 2 * kGranule; ++i) {
      SyncObject& object = objects_[index];
      if (__atomic_load_n(&object.address, __ATOMIC_RELAXED) == address) return &object;
      index = __atomic_load_n(&object.next, __ATOMIC_ACQUIRE);
    }
    return nullptr;
  }

  [[gnu::noinline]] SyncObject* Make(uint32_t* place, uint64_t address) {
    ScopedLock guard(lock_);
    if (SyncObject* object = InChain(place, address); object != nullptr) return object;
    uint32_t index = free_;
    if (index != 0) {
      free_ = objects_[index].next;
    } else {
      index = used_ + 1;
      REDFLAG_CHECK(index < kMaxObjects && "more than 16 million synchronization objects at one time");
      ::new (&objects_[index]) SyncObject(detector_);
      __atomic_store_n(&used_, index, __ATOMIC_RELEASE);
    }
    SyncObject* object = &objects_[index];
    ScopedLock object_guard(object->lock);
    object->name = SyncId{++named_};
    __atomic_store_n(&object->next, __atomic_load_n(place, __ATOMIC_RELAXED), __ATOMIC_RELEASE);
    __atomic_store_n(&object->address, address, __ATOMIC_RELEASE);
    __atomic_store_n(place, index, __ATOMIC_RELEASE);
    return object;
  }

  static bool IsIn(const SyncObject& object, uint64_t begin, uint64_t end) {
    const uint64_t address = object.address & ~kBeside;
    return address >= begin && address < end;
  }

  // Removes those of the granule's objects that are in [begin, end).
  void RemoveFrom(uint32_t* place, uint64_t begin, uint64_t end) {
    ScopedLock guard(lock_);
    uint32_t* link = place;
    while (const uint32_t index = __atomic_load_n(link, __ATOMIC_RELAXED)) {
      SyncObject* object = &objects_[index];
      if (!IsIn(*object, begin, end)) {
        link = &object->next;
        continue;
      }
      ScopedLock object_guard(object->lock);
      BeginChange(*object);
      __atomic_store_n(link, object->next, __ATOMIC_RELEASE);
      object->address = 0;
      object->own_lock = 0;
      object->owner = kNoThread;
      object->readers = 0;
      object->taken_at = kNoContext;
      object->made_at = kNoContext;
      object->is_static = false;
      object->is_not_static = false;
      if (object->is_ordered) order_.Remove(object->name);
      object->is_ordered = false;
      Clear(detector_, object->sync);
      object->next = free_;
      free_ = index;
      EndChange(*object);
    }
  }

  // Of the granule's objects, those in [begin, end) are `distance` further.
  void MoveFrom(uint32_t* place, uint64_t begin, uint64_t end, uint64_t distance) {
    ScopedLock guard(lock_);
    uint32_t* link = place;
    while (const uint32_t index = __atomic_load_n(link, __ATOMIC_RELAXED)) {
      SyncObject* object = &objects_[index];
      if (!IsIn(*object, begin, end)) {
        link = &object->next;
        continue;
      }
      ScopedLock object_guard(object->lock);
      BeginChange(*object);
      __atomic_store_n(link, object->next, __ATOMIC_RELEASE);
      object->address += distance;
      uint32_t* target = shadow_.SyncAt(object->address);
      object->next = *target;
      __atomic_store_n(target, index, __ATOMIC_RELEASE);
      EndChange(*object);
      if (target == place) link = &object->next;  // within one granule: behind itself
    }
  }

  Shadow& shadow_;
  Detector& detector_;
  LockOrder& order_;
  AtomicMem::Lock lock_;
  SyncObject* objects_ = nullptr;  // by index; pages that nobody has come to cost nothing
  uint32_t used_ = 0;
  uint32_t named_ = 0;
  uint32_t free_ = 0;  // the first of the removed ones
};

}  // namespace redflag::rt
