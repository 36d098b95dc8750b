// AccessHistory: what is remembered of the accesses to one granule, exactly, byte by byte. It is the pair
// SS_Wr, SS_Rd of the ThreadSanitizer paper (4.2) with atomics as two more sets, kept as labelled accesses
// instead of segments.
//
// Invariant, for every byte that is not racy: whatever access comes next, if it races with any earlier access
// of this lifetime, it races with one that is in the history. An access may be dropped once a later one that
// covers it (events/access.h) is ordered after it: whoever is ordered after the later one is ordered after
// both, and whoever is not races with the later one.
//
// Two forms. Few accesses: two entries in place, any kind, enough for one writer and one reader. Many: a set
// for each kind with a place for each slot, so that readers on many threads cost the same as one (a list that
// every reader scans is the classical trap). A plain write ordered after everything else folds the second
// form back into the first.
//
// An all-zero history is empty, so zeroed memory is valid shadow. Not thread-safe: the detector locks the
// cell.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/arena.h"
#include "clocks/epoch.h"
#include "clocks/history_entry.h"
#include "events/access.h"

namespace redflag {

template <class Mem>
class AccessHistory {
 public:
  // What there is to do about an access, found in one look.
  enum class Finding : uint8_t {
    kRedundant,  // the same thread made an access that covers it, to all of its bytes, since its time last advanced:
                 // whatever races with the new one races with that one
    kRaces,      // ForEachRace tells with what
    kNew,        // to be recorded
  };
  template <class Clock>
  Finding Examine(const Clock& clock, const HistoryEntry& access) const {
    Finding finding = Finding::kNew;
    const auto look = [&](const HistoryEntry& entry) {
      if (RacesWith(clock, entry, access)) finding = Finding::kRaces;
    };
    if (many_ == nullptr) {
      for (const HistoryEntry& entry : few_) {
        if (entry.epoch == access.epoch && MakesRedundant(entry, access)) return Finding::kRedundant;
        look(entry);
      }
      return finding;
    }
    for (const KindSet& set : many_->sets) {
      const HistoryEntry* entry = set.FindIf(SlotOf(access.epoch), [&](const HistoryEntry& candidate) {
        return candidate.epoch == access.epoch && MakesRedundant(candidate, access);
      });
      if (entry != nullptr) return Finding::kRedundant;
    }
    ForEachOfMany(access.kind, look);
    return finding;
  }

  // Calls visit(entry) for each remembered access that conflicts with `access` on some byte and is not known
  // to `clock`. Not ordered, conflicting: a race.
  template <class Clock, class Visitor>
  void ForEachRace(const Clock& clock, const HistoryEntry& access, Visitor visit) const {
    const auto look = [&](const HistoryEntry& entry) {
      if (RacesWith(clock, entry, access)) visit(entry);
    };
    if (many_ == nullptr) {
      for (const HistoryEntry& entry : few_) look(entry);
    } else {
      ForEachOfMany(access.kind, look);
    }
  }

  // Remembers `access`, which raced with nothing on its bytes, and drops what it covers.
  template <class Clock>
  void Record(Arena<Mem>& arena, const Clock& clock, const HistoryEntry& access) {
    if (many_ == nullptr) {
      if (RecordAmongFew(clock, access)) return;
      Spread(arena);
    }
    RecordAmongMany(arena, access);
  }

  // Remembers `access`, which stands for nothing but what the same thread did that is_old(epoch).
  template <class IsOld>
  void RecordBeside(Arena<Mem>& arena, const HistoryEntry& access, IsOld is_old) {
    const auto drop = [&](HistoryEntry& entry) {
      if (SlotOf(entry.epoch) == SlotOf(access.epoch) && is_old(entry.epoch)) entry.bytes = entry.bytes & ~access.bytes;
      return false;
    };
    for (HistoryEntry& entry : few_) {
      if (Any(entry.bytes & access.bytes) && Covers(access.kind, entry.kind)) drop(entry);
    }
    for (uint32_t kind = 0; many_ != nullptr && kind < kKinds; ++kind) {
      if (!Covers(access.kind, AccessKind(static_cast<uint8_t>(kind)))) continue;
      many_->sets[kind].FindIf(SlotOf(access.epoch), drop);
    }
    Remember(arena, access);
  }

  // Remembers `access` to bytes of which nothing else is remembered.
  void Remember(Arena<Mem>& arena, const HistoryEntry& access) {
    if (many_ == nullptr) {
      if (PlaceAmongFew(access)) return;
      Spread(arena);
    }
    many_->sets[Raw(access.kind)].Insert(arena, access);
  }

  // Forgets everything about these bytes.
  void Forget(Arena<Mem>& arena, ByteMask bytes) {
    for (HistoryEntry& entry : few_) entry.bytes = entry.bytes & ~bytes;
    if (many_ == nullptr) return;
    for (KindSet& set : many_->sets) {
      set.ForEach([&](HistoryEntry& entry) { entry.bytes = entry.bytes & ~bytes; });
    }
    if (bytes == kAllBytes) Fold(arena);
  }

  bool is_spread() const { return many_ != nullptr; }

 private:
  static constexpr uint32_t kFew = 2;
  static constexpr uint32_t kKinds = 4;

  // Entries of one kind: a hash table by slot. A slot has several entries when the thread touched different
  // bytes at different times. A place whose epoch is set and whose bytes are gone is a tombstone.
  class KindSet {
   public:
    void Free(Arena<Mem>& arena) {
      if (capacity_ != 0) arena.Free(entries_, capacity_ * sizeof(HistoryEntry));
      entries_ = nullptr;
      capacity_ = used_ = 0;
    }

    template <class Predicate>
    HistoryEntry* FindIf(Slot slot, Predicate matches) const {
      if (capacity_ == 0) return nullptr;
      for (uint32_t i = Home(slot); entries_[i].epoch != kNoEpoch; i = (i + 1) & (capacity_ - 1)) {
        if (SlotOf(entries_[i].epoch) == slot && matches(entries_[i])) return &entries_[i];
      }
      return nullptr;
    }

    template <class Visitor>
    void ForEach(Visitor visit) const {
      for (uint32_t i = 0; i < capacity_; ++i) {
        if (Any(entries_[i].bytes)) visit(entries_[i]);
      }
    }

    void Insert(Arena<Mem>& arena, const HistoryEntry& entry) {
      HistoryEntry* same =
          FindIf(SlotOf(entry.epoch), [&](const HistoryEntry& e) { return e.SameAccess(entry) || !Any(e.bytes); });
      if (same != nullptr) {
        const ByteMask bytes = same->bytes;
        *same = entry;
        same->bytes = entry.bytes | bytes;
        return;
      }
      if ((used_ + 1) * 4 > capacity_ * 3) Rehash(arena);
      ++used_;
      FreePlace(SlotOf(entry.epoch)) = entry;
    }

    uint32_t CountLive() const {
      uint32_t live = 0;
      ForEach([&](const HistoryEntry&) { ++live; });
      return live;
    }

   private:
    uint32_t Home(Slot slot) const { return Raw(slot) & (capacity_ - 1); }

    HistoryEntry& FreePlace(Slot slot) {
      uint32_t i = Home(slot);
      while (entries_[i].epoch != kNoEpoch) i = (i + 1) & (capacity_ - 1);
      return entries_[i];
    }

    // Leaves tombstones behind; grows only if the live entries need it.
    void Rehash(Arena<Mem>& arena) {
      HistoryEntry* old = entries_;
      const uint32_t old_capacity = capacity_;
      const uint32_t live = CountLive();
      capacity_ = old_capacity == 0 ? 4 : old_capacity;
      while ((live + 1) * 2 > capacity_) capacity_ *= 2;
      entries_ = static_cast<HistoryEntry*>(arena.Allocate(capacity_ * sizeof(HistoryEntry)));
      for (uint32_t i = 0; i < capacity_; ++i) entries_[i] = HistoryEntry{};
      for (uint32_t i = 0; i < old_capacity; ++i) {
        if (Any(old[i].bytes)) FreePlace(SlotOf(old[i].epoch)) = old[i];
      }
      used_ = live;
      if (old_capacity != 0) arena.Free(old, old_capacity * sizeof(HistoryEntry));
    }

    HistoryEntry* entries_ = nullptr;
    uint32_t capacity_ = 0;  // a power of two, or zero
    uint32_t used_ = 0;      // live entries and tombstones
  };

  struct Many {
    KindSet sets[kKinds];
  };

  static bool MakesRedundant(const HistoryEntry& entry, const HistoryEntry& access) {
    return Contains(entry.bytes, access.bytes) && Covers(entry.kind, access.kind);
  }

  template <class Clock>
  static bool RacesWith(const Clock& clock, const HistoryEntry& entry, const HistoryEntry& access) {
    return Any(entry.bytes & access.bytes) && Conflicts(entry.kind, access.kind) && !clock.Knows(entry.epoch);
  }

  // The entries of the second form that can conflict with an access of this kind.
  template <class Visitor>
  void ForEachOfMany(AccessKind kind, Visitor visit) const {
    for (uint8_t other = 0; other < kKinds; ++other) {
      if (Conflicts(AccessKind{other}, kind)) many_->sets[other].ForEach(visit);
    }
  }

  // False if there is no room; what the access covers is dropped in any case.
  template <class Clock>
  bool RecordAmongFew(const Clock& clock, const HistoryEntry& access) {
    for (HistoryEntry& entry : few_) {
      if (Any(entry.bytes & access.bytes) && Covers(access.kind, entry.kind) && clock.Knows(entry.epoch)) {
        entry.bytes = entry.bytes & ~access.bytes;
      }
    }
    return PlaceAmongFew(access);
  }

  bool PlaceAmongFew(const HistoryEntry& access) {
    HistoryEntry* free = nullptr;
    for (HistoryEntry& entry : few_) {
      if (!Any(entry.bytes)) {
        if (free == nullptr) free = &entry;
      } else if (entry.SameAccess(access)) {
        entry.bytes = entry.bytes | access.bytes;
        return true;
      }
    }
    if (free == nullptr) return false;
    *free = access;
    return true;
  }

  // A write raced with nothing, so it is ordered after everything and covers everything. Any other access
  // only drops older accesses of its own thread: looking for other threads' would cost a scan, and gain only
  // space.
  void RecordAmongMany(Arena<Mem>& arena, const HistoryEntry& access) {
    if (access.kind == AccessKind::kWrite) {
      uint32_t live = 0;
      for (KindSet& set : many_->sets) {
        set.ForEach([&](HistoryEntry& entry) {
          entry.bytes = entry.bytes & ~access.bytes;
          live += Any(entry.bytes);
        });
      }
      if (live < kFew) {
        Fold(arena);
        PlaceAmongFew(access);
        return;
      }
    } else {
      for (uint32_t kind = 0; kind < kKinds; ++kind) {
        if (!Covers(access.kind, AccessKind(static_cast<uint8_t>(kind)))) continue;
        many_->sets[kind].FindIf(SlotOf(access.epoch), [&](HistoryEntry& entry) {
          entry.bytes = entry.bytes & ~access.bytes;
          return false;
        });
      }
    }
    many_->sets[Raw(access.kind)].Insert(arena, access);
  }

  void Spread(Arena<Mem>& arena) {
    many_ = arena.template New<Many>();
    for (const HistoryEntry& entry : few_) {
      if (Any(entry.bytes)) many_->sets[Raw(entry.kind)].Insert(arena, entry);
    }
    for (HistoryEntry& entry : few_) entry = HistoryEntry{};
  }

  // Back to the first form; at most kFew entries are alive.
  void Fold(Arena<Mem>& arena) {
    uint32_t next = 0;
    for (KindSet& set : many_->sets) {
      set.ForEach([&](const HistoryEntry& entry) { few_[next++] = entry; });
      set.Free(arena);
    }
    arena.Delete(many_);
    many_ = nullptr;
  }

  HistoryEntry few_[kFew];
  Many* many_ = nullptr;
};

}  // namespace redflag
