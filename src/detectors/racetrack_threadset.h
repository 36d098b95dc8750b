// ThreadsetTable: RaceTrack's threadsets S_x, each distinct one once, named by its address (3.2). A threadset maps threads
// to clock values: here a sorted array of epochs, at most one for each slot. They come and go with every access to a
// contended variable, so they are counted: a set that no variable refers to is given back at once. (The paper sweeps them
// when the garbage collector has stopped the program; here nothing stops.)
//
// Only sets of two and more are stored: a set of one is a label in the state itself (racetrack_state.h).
//
// Thread-safe under AtomicMem. In-process: Arena memory only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/arena.h"
#include "base/hash_map.h"
#include "base/mem.h"
#include "base/vector.h"
#include "clocks/epoch.h"

namespace redflag {

struct Threadset {
  Threadset* next;  // in its bucket
  uint64_t hash;
  uint64_t users;
  uint64_t count;

  const Epoch* begin() const { return reinterpret_cast<const Epoch*>(this + 1); }
  const Epoch* end() const { return begin() + count; }
};

template <class Mem>
class ThreadsetTable {
 public:
  explicit ThreadsetTable(Arena<Mem>& arena) : arena_(arena), buckets_(arena), scratch_(arena) {}
  ThreadsetTable(const ThreadsetTable&) = delete;
  ThreadsetTable& operator=(const ThreadsetTable&) = delete;

  // Every set that is handed out is one the caller has to Drop.
  const Threadset* Pair(Epoch a, Epoch b) {
    ScopedLock guard(lock_);
    scratch_.Clear();
    scratch_.Push(SlotOf(a) < SlotOf(b) ? a : b);
    scratch_.Push(SlotOf(a) < SlotOf(b) ? b : a);
    return Intern();
  }

  // Merge(Remove(S, B), {mine}) of Figure 2, in place of S; knows(epoch) asks B. Null: `mine` is all that is left.
  template <class Knows>
  const Threadset* Advance(const Threadset* set, Epoch mine, Knows knows) {
    ScopedLock guard(lock_);
    scratch_.Clear();
    bool placed = false;
    for (const Epoch epoch : *set) {
      if (!placed && SlotOf(mine) <= SlotOf(epoch)) {
        scratch_.Push(mine);
        placed = true;
      }
      if (SlotOf(epoch) != SlotOf(mine) && !knows(epoch)) scratch_.Push(epoch);
    }
    if (!placed) scratch_.Push(mine);
    const Threadset* result = scratch_.size() == 1 ? nullptr : Intern();
    Release(const_cast<Threadset*>(set));
    return result;
  }

  void Keep(const Threadset* set) {
    ScopedLock guard(lock_);
    ++const_cast<Threadset*>(set)->users;
  }
  void Drop(const Threadset* set) {
    ScopedLock guard(lock_);
    Release(const_cast<Threadset*>(set));
  }

  size_t size() const { return size_; }

 private:
  static size_t BytesOf(uint64_t count) { return sizeof(Threadset) + count * sizeof(Epoch); }

  Threadset*& BucketOf(uint64_t hash) { return buckets_[hash & (buckets_.size() - 1)]; }

  // The set of what is in scratch_, with one more user.
  const Threadset* Intern() {
    if (size_ >= buckets_.size()) Grow();
    uint64_t hash = scratch_.size();
    for (const Epoch epoch : scratch_) hash = HashKey(hash ^ Raw(epoch));
    for (Threadset* set = BucketOf(hash); set != nullptr; set = set->next) {
      if (set->hash == hash && HoldsScratch(*set)) {
        ++set->users;
        return set;
      }
    }
    auto* set = static_cast<Threadset*>(arena_.Allocate(BytesOf(scratch_.size())));
    *set = Threadset{.next = BucketOf(hash), .hash = hash, .users = 1, .count = scratch_.size()};
    auto* epochs = reinterpret_cast<Epoch*>(set + 1);
    for (size_t i = 0; i < scratch_.size(); ++i) epochs[i] = scratch_[i];
    BucketOf(hash) = set;
    ++size_;
    return set;
  }

  bool HoldsScratch(const Threadset& set) const {
    if (set.count != scratch_.size()) return false;
    for (size_t i = 0; i < scratch_.size(); ++i) {
      if (set.begin()[i] != scratch_[i]) return false;
    }
    return true;
  }

  void Release(Threadset* set) {
    if (--set->users != 0) return;
    Threadset** place = &BucketOf(set->hash);
    while (*place != set) place = &(*place)->next;
    *place = set->next;
    arena_.Free(set, BytesOf(set->count));
    --size_;
  }

  void Grow() {
    Threadset* all = nullptr;
    for (Threadset* head : buckets_) {
      while (head != nullptr) {
        Threadset* next = head->next;
        head->next = all;
        all = head;
        head = next;
      }
    }
    const size_t buckets = buckets_.empty() ? 16 : buckets_.size() * 2;
    buckets_.Clear();
    while (buckets_.size() < buckets) buckets_.Push(nullptr);
    while (all != nullptr) {
      Threadset* next = all->next;
      all->next = BucketOf(all->hash);
      BucketOf(all->hash) = all;
      all = next;
    }
  }

  typename Mem::Lock lock_;
  Arena<Mem>& arena_;
  Vector<Threadset*, Mem> buckets_;  // a power of two, or none
  Vector<Epoch, Mem> scratch_;
  size_t size_ = 0;
};

}  // namespace redflag
