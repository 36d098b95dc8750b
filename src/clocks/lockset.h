// Locksets: what a thread holds, and interned sets of it.
//
//   HeldLock      a lock and the mode it is held in, 32 bits
//   LocksetTable  every distinct set once, named by a LocksetId; intersections are cached
//   HeldSet       what a thread holds, in 64 bits: one or two locks as they are, or the name of a set
//   HeldLocks     the locks that one thread holds now; names its set lazily, because most locks are taken and released
//                 without the set ever being asked for
//
// In-process: Arena memory only. LocksetTable is thread-safe under AtomicMem; HeldLocks belongs to its thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/arena.h"
#include "base/hash_map.h"
#include "base/ids.h"
#include "base/vector.h"
#include "events/event.h"

namespace redflag {

// Ordered by lock first, so that sorted sets list locks in order of their ids.
enum class HeldLock : uint32_t {};

constexpr HeldLock MakeHeldLock(SyncId lock, LockMode mode) {
  return HeldLock{(Raw(lock) << 1) | (mode == LockMode::kShared ? 1u : 0u)};
}
constexpr SyncId LockOf(HeldLock held) { return SyncId{Raw(held) >> 1}; }
constexpr LockMode ModeOf(HeldLock held) { return (Raw(held) & 1) != 0 ? LockMode::kShared : LockMode::kExclusive; }

// A view of an interned set, sorted. Good as long as the table lives.
struct LocksetView {
  const HeldLock* first = nullptr;
  uint32_t count = 0;
  bool Equals(const HeldLock* elements, uint32_t size) const {
    if (count != size) return false;
    for (uint32_t i = 0; i < count; ++i) {
      if (first[i] != elements[i]) return false;
    }
    return true;
  }
  const HeldLock* begin() const { return first; }
  const HeldLock* end() const { return first + count; }
};

// Most sets are of one or two locks: those are written out, so that no table needs to be asked.
//
//   [ 0 ][ second lock + 1, or 0 : 30 ][ mode ][ first lock + 1, or 0 : 31 ][ mode ]
//   [ 1 ][ 0                                  ][ LocksetId                         ]
class HeldSet {
 public:
  static constexpr uint32_t kMostListed = 2;

  constexpr HeldSet() = default;  // nothing is held
  static constexpr HeldSet FromRaw(uint64_t raw) {
    HeldSet set;
    set.raw_ = raw;
    return set;
  }
  static constexpr HeldSet Named(LocksetId id) { return id == kEmptyLockset ? HeldSet() : FromRaw(kNamed | Raw(id)); }
  static constexpr bool CanList(HeldLock lock) { return Raw(LockOf(lock)) < (1u << 30) - 1; }
  static constexpr HeldSet Listing(HeldLock lock) { return FromRaw(Raw(lock) + kOne); }
  static constexpr HeldSet Listing(HeldLock first, HeldLock second) {
    return FromRaw(uint64_t{Raw(second) + kOne} << 32 | (Raw(first) + kOne));
  }

  constexpr uint64_t raw() const { return raw_; }
  constexpr bool is_empty() const { return raw_ == 0; }
  constexpr bool is_listed() const { return raw_ < kNamed; }
  constexpr LocksetId name() const { return LocksetId{static_cast<uint32_t>(raw_)}; }  // of one that is not listed
  friend constexpr bool operator==(HeldSet, HeldSet) = default;

  // Two that are listed: as LocksetTable::HaveCommon.
  static constexpr bool HaveCommon(HeldSet a, bool a_writes, HeldSet b, bool b_writes) {
    const uint32_t first = Counting(a.first(), a_writes), second = Counting(a.second(), a_writes);
    const uint32_t other_first = Counting(b.first(), b_writes), other_second = Counting(b.second(), b_writes);
    return (first != 0 && (first == other_first || first == other_second)) ||
           (second != 0 && (second == other_first || second == other_second));
  }

  // The locks of one that is listed: how many.
  constexpr uint32_t List(HeldLock (&elements)[kMostListed]) const {
    uint32_t count = 0;
    if (first() != 0) elements[count++] = HeldLock{first() - kOne};
    if (second() != 0) elements[count++] = HeldLock{second() - kOne};
    return count;
  }

 private:
  static constexpr uint64_t kNamed = uint64_t{1} << 63;
  static constexpr uint32_t kOne = 1u << 1;  // of a lock's number
  constexpr uint32_t first() const { return static_cast<uint32_t>(raw_); }
  constexpr uint32_t second() const { return static_cast<uint32_t>(raw_ >> 32); }
  // The lock, if it counts; 0: does not.
  static constexpr uint32_t Counting(uint32_t held, bool writes) { return writes && (held & 1) != 0 ? 0 : held >> 1; }

  uint64_t raw_ = 0;
};

template <class Mem>
class LocksetTable {
 public:
  explicit LocksetTable(Arena<Mem>& arena) : arena_(arena), sets_(arena), by_hash_(arena) {
    sets_.Push(LocksetView{});  // kEmptyLockset
  }

  // The id of the set of these elements, which are sorted and distinct.
  LocksetId Intern(const HeldLock* elements, uint32_t count) {
    if (count == 0) return kEmptyLockset;
    ScopedLock guard(lock_);
    return InternLocked(elements, count);
  }

  LocksetView View(LocksetId id) {
    ScopedLock guard(lock_);
    return sets_[Raw(id)];
  }

  // Elements are compared whole: a lock held in two different modes is not in the intersection.
  LocksetId Intersect(LocksetId a, LocksetId b) {
    if (a == b) return a;
    if (a == kEmptyLockset || b == kEmptyLockset) return kEmptyLockset;
    if (a > b) {
      const LocksetId t = a;
      a = b;
      b = t;
    }
    ScopedLock guard(lock_);
    Cached& cached = cache_[HashKey((uint64_t{Raw(a)} << 32) | Raw(b)) % kCacheSize];
    if (cached.a == a && cached.b == b) {
      ++cache_hits_;
      return cached.result;
    }
    cached = Cached{.a = a, .b = b, .result = ComputeIntersection(sets_[Raw(a)], sets_[Raw(b)])};
    return cached.result;
  }

  // Do two accesses, made with these locks held, have one in common? For a write those count that are held for writing, for a
  // read all (event_locksets.h).
  bool HaveCommon(HeldSet a, bool a_writes, HeldSet b, bool b_writes) {
    HeldLock listed_a[HeldSet::kMostListed], listed_b[HeldSet::kMostListed];
    const LocksetView of_b = View(b, listed_b);
    for (const HeldLock lock : View(a, listed_a)) {
      if (a_writes && ModeOf(lock) == LockMode::kShared) continue;
      for (const HeldLock other : of_b) {
        if (LockOf(other) == LockOf(lock) && !(b_writes && ModeOf(other) == LockMode::kShared)) return true;
      }
    }
    return false;
  }

  size_t size() const { return sets_.size(); }
  uint64_t cache_hits() const { return cache_hits_; }

 private:
  static constexpr size_t kCacheSize = 1024;

  struct Cached {
    LocksetId a = kEmptyLockset;  // never asked for with an empty set: marks an unused line
    LocksetId b = kEmptyLockset;
    LocksetId result = kEmptyLockset;
  };

  LocksetView View(HeldSet set, HeldLock (&listed)[HeldSet::kMostListed]) {
    if (!set.is_listed()) return View(set.name());
    return LocksetView{.first = listed, .count = set.List(listed)};
  }

  // Sets whose hashes collide are told apart by probing the next key.
  LocksetId InternLocked(const HeldLock* elements, uint32_t count) {
    uint64_t key = count;
    for (uint32_t i = 0; i < count; ++i) key = HashKey(key ^ Raw(elements[i])) + i;
    for (;; ++key) {
      LocksetId& id = by_hash_.Insert(key);
      if (id == kEmptyLockset) {
        id = LocksetId(static_cast<uint32_t>(sets_.size()));
        auto* copy = static_cast<HeldLock*>(arena_.Allocate(count * sizeof(HeldLock)));
        for (uint32_t i = 0; i < count; ++i) copy[i] = elements[i];
        sets_.Push(LocksetView{.first = copy, .count = count});
        return id;
      }
      if (sets_[Raw(id)].Equals(elements, count)) return id;
    }
  }

  LocksetId ComputeIntersection(LocksetView a, LocksetView b) {
    Vector<HeldLock, Mem> common(arena_);
    for (uint32_t i = 0, j = 0; i < a.count && j < b.count;) {
      if (a.first[i] == b.first[j]) {
        common.Push(a.first[i]);
        ++i;
        ++j;
      } else if (a.first[i] < b.first[j]) {
        ++i;
      } else {
        ++j;
      }
    }
    if (common.empty()) return kEmptyLockset;
    return InternLocked(common.begin(), static_cast<uint32_t>(common.size()));
  }

  typename Mem::Lock lock_;
  Arena<Mem>& arena_;  // owns the elements
  Vector<LocksetView, Mem> sets_;
  HashMap<LocksetId, Mem> by_hash_;
  uint64_t cache_hits_ = 0;
  Cached cache_[kCacheSize];
};

template <class Mem>
class HeldLocks {
 public:
  HeldLocks(Arena<Mem>& arena, LocksetTable<Mem>& table) : table_(table), entries_(arena) {}

  // Returns whether this is the outermost acquisition: the one that counts for detectors.
  bool Acquire(SyncId lock, LockMode mode) {
    const HeldLock held = MakeHeldLock(lock, mode);
    const size_t i = Find(held);
    if (i < entries_.size() && entries_[i].held == held) {
      ++entries_[i].depth;
      return false;
    }
    entries_.Insert(i, Entry{.held = held, .depth = 1});
    named_ = false;
    return true;
  }

  // Returns whether the lock is free of this thread now. A lock that is not held is left alone: false.
  bool Release(SyncId lock, LockMode mode) {
    const HeldLock held = MakeHeldLock(lock, mode);
    const size_t i = Find(held);
    if (i == entries_.size() || entries_[i].held != held) return false;
    if (--entries_[i].depth != 0) return false;
    entries_.Remove(i);
    named_ = false;
    return true;
  }

  LocksetId id() {
    if (!named_) {
      id_ = Name();
      named_ = true;
    }
    return id_;
  }

  // The same in 64 bits: of one or two locks without a name.
  HeldSet set() {
    if (entries_.size() == 0) return HeldSet();
    if (entries_.size() > HeldSet::kMostListed || !HeldSet::CanList(entries_.back().held)) return HeldSet::Named(id());
    if (entries_.size() == 1) return HeldSet::Listing(entries_[0].held);
    return HeldSet::Listing(entries_[0].held, entries_[1].held);
  }

  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    HeldLock held;
    uint32_t depth;
  };

  // The first entry not below `held`. Threads hold few locks, and mostly take the newest last.
  size_t Find(HeldLock held) const {
    size_t low = 0;
    size_t high = entries_.size();
    while (low < high) {
      const size_t middle = (low + high) / 2;
      if (entries_[middle].held < held) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  // Threads take the same locks again and again, so that most names are remembered here, and the table need not be asked.
  LocksetId Name() {
    constexpr size_t kOnStack = 64;
    if (entries_.size() <= kOnStack) {
      HeldLock elements[kOnStack];
      uint64_t hash = 0;
      for (size_t i = 0; i < entries_.size(); ++i) {
        elements[i] = entries_[i].held;
        hash = (hash ^ Raw(elements[i])) * 0x9e3779b97f4a7c15u;
      }
      const auto count = static_cast<uint32_t>(entries_.size());
      Named& named = known_[hash >> (64 - kKnownBits)];
      if (count == 0 || !named.set.Equals(elements, count)) {
        named.id = table_.Intern(elements, count);
        named.set = table_.View(named.id);
      }
      return named.id;
    }
    Vector<HeldLock, Mem> elements(entries_.arena());
    for (const Entry& entry : entries_) elements.Push(entry.held);
    return table_.Intern(elements.begin(), static_cast<uint32_t>(elements.size()));
  }

  static constexpr int kKnownBits = 8;
  struct Named {
    LocksetView set;
    LocksetId id = kEmptyLockset;
  };

  LocksetTable<Mem>& table_;
  Vector<Entry, Mem> entries_;
  Named known_[1u << kKnownBits];
  LocksetId id_ = kEmptyLockset;
  bool named_ = true;
};

}  // namespace redflag
