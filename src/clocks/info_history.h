// InfoHistory: the Info records of one granule (Goldilocks section 5): WriteInfo(x), ReadInfo(x, t), and the same for atomic
// writes and reads, exact to the byte. An Info is one access; what it shares with its neighbours in time is its Ownership
// (clocks/ownership.h), of which it is a user.
//
// Which access may stand for which is what clocks/access_history.h says, and so are the two forms: few accesses in place, or
// a set for each kind, by thread, so that a read among many readers looks at its own Info only (the paper's
// ReadInfo(o, d, t)). The difference is what a look costs: there it is a comparison, here it may be a walk through the
// event list. So an access that conflicts with none of the others does not ask who is ordered before it, except when a set
// has to grow.
//
// An all-zero history is empty, so zeroed memory is valid shadow. Not thread-safe: the detector locks the cell.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "base/hash_map.h"
#include "base/ids.h"
#include "events/access.h"

namespace redflag {

template <class Mem, class Ledger>
class InfoHistory {
  using Ownership = typename Ledger::Ownership;

 public:
  // `bytes` are those for which it still counts; none: it is no user of its ownership any more.
  struct Info {
    Ownership* ownership = nullptr;
    ContextId context = kNoContext;
    ByteMask bytes = kNoBytes;
    AccessKind kind{};
    AccessOrigin origin{};

    bool SameAccess(const Info& other) const {
      return ownership == other.ownership && kind == other.kind && context == other.context && origin == other.origin;
    }
  };
  static_assert(sizeof(Info) == 16);

  // Would recording this access teach nothing? True if an access under the same ownership covers it, on all of its bytes.
  bool IsRedundant(const Info& access) const {
    const auto makes_redundant = [&](const Info& info) {
      return info.ownership == access.ownership && Contains(info.bytes, access.bytes) && Covers(info.kind, access.kind);
    };
    if (many_ == nullptr) return makes_redundant(few_[0]) || makes_redundant(few_[1]);
    for (const KindSet& set : many_->sets) {
      if (set.FindIf(access.ownership->owner, makes_redundant) != nullptr) return true;
    }
    return false;
  }

  // Calls replaces(info) for each access that has a byte in common with `access` and conflicts with it or is covered by it;
  // among many, of the latter only those of the same thread. If it returns true, `access` will stand for that one.
  template <class Replaces>
  void ForEachEarlier(Arena<Mem>& arena, Ledger& ledger, const Info& access, Replaces replaces) {
    const auto look = [&](Info& info) {
      if (Any(info.bytes & access.bytes) && replaces(info)) Forget(ledger, info, access.bytes);
      return false;
    };
    if (many_ == nullptr) {
      for (Info& info : few_) {
        if (Conflicts(info.kind, access.kind) || Covers(access.kind, info.kind)) look(info);
      }
      return;
    }
    for (uint32_t i = 0; i < kKinds; ++i) {
      const AccessKind kind{static_cast<uint8_t>(i)};
      if (Conflicts(kind, access.kind)) {
        many_->sets[i].ForEach(look);
      } else if (Covers(access.kind, kind)) {
        many_->sets[i].FindIf(access.ownership->owner, look);
      }
    }
    // A write that raced with nothing has replaced everything.
    if (access.kind == AccessKind::kWrite && CountLive() < kFew) Fold(arena);
  }

  // Remembers `access`. When a set is full, calls is_old(info) to find those that `access` can stand for.
  template <class IsOld>
  void Record(Arena<Mem>& arena, Ledger& ledger, const Info& access, IsOld is_old) {
    if (many_ == nullptr) {
      if (PlaceAmongFew(ledger, access)) return;
      Spread(arena);
    }
    KindSet& set = many_->sets[Raw(access.kind)];
    if (set.IsFull()) {
      set.ForEach([&](Info& info) {
        if (Any(info.bytes & access.bytes) && is_old(info)) Forget(ledger, info, access.bytes);
      });
    }
    if (set.Insert(arena, access)) ledger.Retain(access.ownership);
  }

  // Remembers `access` to bytes of which nothing else is remembered.
  void Remember(Arena<Mem>& arena, Ledger& ledger, const Info& access) {
    Record(arena, ledger, access, [](const Info&) { return false; });
  }

  // Forgets everything about these bytes.
  void Forget(Arena<Mem>& arena, Ledger& ledger, ByteMask bytes) {
    ForEach([&](Info& info) { Forget(ledger, info, bytes); });
    if (many_ != nullptr && bytes == kAllBytes) Fold(arena);
  }

  // Calls visit(info) for each remembered access.
  template <class Visitor>
  void ForEach(Visitor visit) {
    for (Info& info : few_) {
      if (Any(info.bytes)) visit(info);
    }
    if (many_ == nullptr) return;
    for (KindSet& set : many_->sets) set.ForEach(visit);
  }

  bool is_spread() const { return many_ != nullptr; }

 private:
  static constexpr uint32_t kFew = 2;
  static constexpr uint32_t kKinds = 4;

  // Accesses of one kind: a hash table by thread. A thread has several when it touched different bytes at different times.
  class KindSet {
   public:
    void Free(Arena<Mem>& arena) {
      if (capacity_ != 0) arena.Free(places_, capacity_ * sizeof(Place));
      places_ = nullptr;
      capacity_ = used_ = 0;
    }

    // The first of this thread's accesses that `matches`.
    template <class Predicate>
    Info* FindIf(Tid owner, Predicate matches) const {
      if (capacity_ == 0) return nullptr;
      for (uint32_t i = Home(owner); places_[i].used; i = (i + 1) & (capacity_ - 1)) {
        if (places_[i].owner == owner && Any(places_[i].info.bytes) && matches(places_[i].info))
          return &places_[i].info;
      }
      return nullptr;
    }

    template <class Visitor>
    void ForEach(Visitor visit) const {
      for (uint32_t i = 0; i < capacity_; ++i) {
        if (Any(places_[i].info.bytes)) visit(places_[i].info);
      }
    }

    bool IsFull() const { return (used_ + 1) * 4 > capacity_ * 3; }

    // True if it has got a place of its own; false if the same access had one, for other bytes.
    bool Insert(Arena<Mem>& arena, const Info& info) {
      const Tid owner = info.ownership->owner;
      Info* same = FindIf(owner, [&](const Info& other) { return other.SameAccess(info); });
      if (same != nullptr) {
        same->bytes = same->bytes | info.bytes;
        return false;
      }
      if (IsFull()) Rehash(arena);
      Put(owner, info);
      return true;
    }

   private:
    // Used and without bytes: a tombstone.
    struct Place {
      Info info;
      Tid owner;
      bool used;
    };

    uint32_t Home(Tid owner) const { return static_cast<uint32_t>(HashKey(Raw(owner))) & (capacity_ - 1); }

    void Put(Tid owner, const Info& info) {
      uint32_t i = Home(owner);
      while (Any(places_[i].info.bytes)) i = (i + 1) & (capacity_ - 1);
      used_ += !places_[i].used;
      places_[i] = Place{.info = info, .owner = owner, .used = true};
    }

    // Leaves tombstones behind; grows only if the live ones need it.
    void Rehash(Arena<Mem>& arena) {
      Place* old = places_;
      const uint32_t old_capacity = capacity_;
      uint32_t live = 0;
      ForEach([&](const Info&) { ++live; });
      capacity_ = old_capacity == 0 ? 4 : old_capacity;
      while ((live + 1) * 2 > capacity_) capacity_ *= 2;
      places_ = static_cast<Place*>(arena.Allocate(capacity_ * sizeof(Place)));
      for (uint32_t i = 0; i < capacity_; ++i) places_[i] = Place{};
      used_ = 0;
      for (uint32_t i = 0; i < old_capacity; ++i) {
        if (Any(old[i].info.bytes)) Put(old[i].owner, old[i].info);
      }
      if (old_capacity != 0) arena.Free(old, old_capacity * sizeof(Place));
    }

    Place* places_ = nullptr;
    uint32_t capacity_ = 0;  // a power of two, or zero
    uint32_t used_ = 0;      // live ones and tombstones
  };

  struct Many {
    KindSet sets[kKinds];
  };

  static void Forget(Ledger& ledger, Info& info, ByteMask bytes) {
    info.bytes = info.bytes & ~bytes;
    if (!Any(info.bytes)) ledger.Release(info.ownership);
  }

  bool PlaceAmongFew(Ledger& ledger, const Info& access) {
    for (Info& info : few_) {
      if (!Any(info.bytes) || !info.SameAccess(access)) continue;
      info.bytes = info.bytes | access.bytes;
      return true;
    }
    for (Info& info : few_) {
      if (Any(info.bytes)) continue;
      info = access;
      ledger.Retain(access.ownership);
      return true;
    }
    return false;
  }

  uint32_t CountLive() {
    uint32_t live = 0;
    ForEach([&](const Info&) { ++live; });
    return live;
  }

  void Spread(Arena<Mem>& arena) {
    many_ = arena.template New<Many>();
    for (Info& info : few_) {
      if (Any(info.bytes)) many_->sets[Raw(info.kind)].Insert(arena, info);
      info = Info{};
    }
  }

  // Back to the first form; at most kFew are alive.
  void Fold(Arena<Mem>& arena) {
    uint32_t next = 0;
    for (KindSet& set : many_->sets) {
      set.ForEach([&](const Info& info) { few_[next++] = info; });
      set.Free(arena);
    }
    arena.Delete(many_);
    many_ = nullptr;
  }

  Info few_[kFew];
  Many* many_ = nullptr;
};

}  // namespace redflag
