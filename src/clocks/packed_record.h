// PackedRecord: the accesses to one granule that do not fit into its cell (packed_cell.h), as words in an arena of their own; 32 bytes
// with room for 3 words, then 64 with 7, and so on.
//
// Home. A thread's latest access stands at a place that its slot says, unless another thread's does, or it was renewed where it stood: so the access path of the runtime
// finds it with one addition. Records of more than 7 words have a second such place for each slot, where the first is another thread's: so data that hundreds of threads read is not searched.
//
// Owner. A record that has words of one slot only says so: then that thread has nobody to be compared with (PackedCell::ReplaceOwn).
//
// Plain. A record that never had an atomic access says so: there a write takes away all that it is ordered after, so that whoever finds
// its own word whole knows that nobody has written since (PackedCell::Refresh).
//
// Raced. Granules all of whose bytes have had their race have one and the same record, kAllRaced, in which nothing else stands, and which nobody changes.
//
// Changed under the lock of the cell, or by whoever is alone with it; the words also by their own thread (PackedCell::Refresh). Read by
// anybody at any time: memory of a record is never unmapped while the detector lives, and serves records of one size only until
// all are forgotten.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "base/ids.h"
#include "clocks/packed_access.h"
#include "events/access.h"

namespace redflag {

struct PackedRecord {
  static constexpr uint32_t kFirstCapacity = 3;
  static constexpr uint32_t kHomes =
      7;  // of records that are not of the first size; threads whose slots are so far apart share one
  static constexpr uint16_t kNobody = 0xffff, kSeveral = 0xfffe;  // of `owner`

  uint32_t capacity;
  ByteMask racy;
  bool is_plain;
  uint16_t owner;                  // the slot that all words are of; or there is none, or may be another
  uint64_t words[kFirstCapacity];  // as many as `capacity` says

  template <class Mem>
  static PackedRecord* New(Arena<Mem>& arena, uint32_t capacity) {
    auto* record = static_cast<PackedRecord*>(arena.Allocate((capacity + 1) * sizeof(uint64_t)));
    for (uint32_t i = 0; i < capacity; ++i) record->Set(i, 0);
    record->racy = kNoBytes;
    record->is_plain = true;
    record->owner = kNobody;
    __atomic_store_n(&record->capacity, capacity, __ATOMIC_RELEASE);
    return record;
  }
  template <class Mem>
  void Free(Arena<Mem>& arena) {
    arena.Free(this, (capacity + 1) * sizeof(uint64_t));
  }

  uint64_t Word(uint32_t index) const { return __atomic_load_n(&words[index], __ATOMIC_RELAXED); }
  void Set(uint32_t index, uint64_t word) { __atomic_store_n(&words[index], word, __ATOMIC_RELAXED); }

  static constexpr uint32_t HomeOf(bool is_small, Slot slot) {
    return is_small ? Raw(slot) % kFirstCapacity : Raw(slot) % kHomes;  // by constants, which takes no division
  }
  uint32_t HomeOf(Slot slot) const { return HomeOf(capacity == kFirstCapacity, slot); }
  // A second one, in a large record, where fewer threads have the same.
  static constexpr uint32_t FarHomeOf(uint32_t capacity, Slot slot) {
    const uint32_t place = Raw(slot) & capacity;  // which is one less than a power of two
    return place < capacity ? place : 0;
  }
  // A home that is free; `capacity`: neither is.
  uint32_t FreeHomeOf(Slot slot) const {
    if (const uint32_t home = HomeOf(slot); Word(home) == 0) return home;
    const uint32_t far = FarHomeOf(capacity, slot);
    return Word(far) == 0 ? far : capacity;
  }
  // Of the home, in bytes from what a handle is if it is shifted back.
  static constexpr int64_t HomeOffset(bool is_small, Slot slot) {
    const uint64_t in_record = kWordsOffset + HomeOf(is_small, slot) * sizeof(uint64_t);
    return static_cast<int64_t>(in_record) - (is_small ? int64_t{kSmall << kHandleShift} : 0);
  }

  // From now on there is this one too.
  void Admit(PackedAccess access) {
    const auto slot = static_cast<uint16_t>(Raw(access.slot()));
    if (owner != slot) owner = owner == kNobody ? slot : kSeveral;
    if (IsAtomic(access.kind())) is_plain = false;
  }
  // Is nothing here but what this slot did?
  bool IsOwn(Slot slot) const { return owner == Raw(slot); }

  // Puts an access where there is room: at home, or somewhere.
  void Place(uint64_t word) {
    Admit(PackedAccess(word));
    uint32_t place = FreeHomeOf(PackedAccess(word).slot());
    if (place == capacity) {
      place = 0;
      while (Word(place) != 0) ++place;
    }
    Set(place, word);
  }

  // ---- In a record of one slot: nothing can race there ----

  // What `mine` covers goes, and it takes a place that is free. "no": what it covers may be gone, nothing else has changed; there is no
  // room, or so much that the record is not needed any more.
  bool ReplaceOwn(PackedAccess mine) {
    if (!IsOwn(mine.slot())) return false;
    const uint32_t none = capacity;
    uint32_t room = none;
    uint32_t same = none;  // differs in its bytes only
    uint32_t kept = 0;
    for (uint32_t i = none; i-- > 0;) {
      const uint64_t left = LeftBeside(mine, Word(i));
      Set(i, left);
      room = left == 0 ? i : room;
      same = PackedAccess(left).SameAccess(mine) ? i : same;
      kept += left != 0 ? 1 : 0;
    }
    if (same != none) {
      Set(same, Word(same) | mine.word());
      return true;
    }
    if (room == none || kept == 0) return false;
    const uint32_t home = HomeOf(mine.slot());
    if (const uint64_t before = Word(home); before != 0) Set(room, before);
    Set(home, mine.word());
    return true;
  }

  // The same in a small one, if the latest access was this one to other bytes: so a buffer is filled or read byte by byte. "no": nothing has
  // changed; or the record is not needed any more.
  [[gnu::always_inline]] bool GoesOn(PackedAccess mine) {
    const uint32_t home = HomeOf(true, mine.slot());
    const uint64_t latest = Word(home);
    if (!IsOwn(mine.slot()) || !PackedAccess(latest).SameAccess(mine) || Any(racy)) return false;
    uint64_t left[kFirstCapacity];
    bool is_needed = false;
    for (uint32_t i = 0; i < kFirstCapacity; ++i) {
      left[i] = LeftBeside(mine, Word(i));
      is_needed |= i != home && left[i] != 0;
    }
    if (!is_needed) return false;
    left[home] = latest | mine.word();
    for (uint32_t i = 0; i < kFirstCapacity; ++i) Set(i, left[i]);
    return true;
  }

  // Where an access like `mine`, at an earlier time, stands; null: nowhere, or there is more to do. Others that `mine` covers may stay: they are older, and what races with
  // them races with it.
  [[gnu::always_inline]] uint64_t* PlaceToRenew(PackedAccess mine) {
    if (!IsOwn(mine.slot()) || Any(racy) || capacity > kHomes) return nullptr;
    for (uint32_t i = 0; i < capacity; ++i) {
      if (PackedAccess(Word(i)).IsRenewedBy(mine)) return &words[i];
    }
    return nullptr;
  }

  // What a cell has in the place of an access: the address, shifted, and in the bit that is free because records are aligned to 32 bytes,
  // whether it is small. Times are never 0, so that it is no access.
  static constexpr int kHandleShift = 4;
  static constexpr bool IsHandle(uint64_t word) { return word != 0 && word >> PackedAccess::kTimeShift == 0; }
  static constexpr bool IsSmall(uint64_t handle) { return (handle & kSmall) != 0; }
  uint64_t Handle() const {
    return reinterpret_cast<uint64_t>(this) >> kHandleShift | (capacity == kFirstCapacity ? kSmall : 0);
  }
  static uint64_t HandleOfAllRaced();
  // Null if it is no handle.
  static PackedRecord* Of(uint64_t handle) {
    return IsHandle(handle) ? reinterpret_cast<PackedRecord*>((handle & ~kSmall) << kHandleShift) : nullptr;
  }

  // As seen without the lock.
  ByteMask RacyNow() const {
    return ByteMask{__atomic_load_n(reinterpret_cast<const uint8_t*>(&racy), __ATOMIC_ACQUIRE)};
  }

  // For who reads without the lock, when the record may be given back at any moment: then its memory is another record of this size, or in
  // a list of free ones, by an address, which is even. Then there is nothing to look at.
  uint32_t CapacityNow() const {
    const uint32_t now = __atomic_load_n(&capacity, __ATOMIC_RELAXED);
    return now % 2 != 0 ? now : 0;
  }

 private:
  // Of an access of the same slot, when `mine` has taken the bytes that it covers. Without branches: they would be guesses.
  static uint64_t LeftBeside(PackedAccess mine, uint64_t word) {
    const bool is_covered = (word & ~mine.word() & PackedAccess::kKindField) == 0;
    const uint64_t left = is_covered ? word & ~(mine.word() & PackedAccess::kBytesField) : word;
    return (left & PackedAccess::kBytesField) == 0 ? 0 : left;
  }

  static constexpr uint64_t kSmall = 1;
  static constexpr uint64_t kWordsOffset = 8;
};
static_assert(sizeof(PackedRecord) == 32);

alignas(32) inline constexpr PackedRecord kAllRaced = {.capacity = PackedRecord::kFirstCapacity,
                                                       .racy = kAllBytes,
                                                       .is_plain = true,
                                                       .owner = PackedRecord::kNobody,
                                                       .words = {}};
inline uint64_t PackedRecord::HandleOfAllRaced() { return kAllRaced.Handle(); }

}  // namespace redflag
