// PackedCell: what is kept of one granule where memory is dear: two words, 16 bytes for 8 bytes of the program. The layout is
// argued in docs/shadow.md.
//
// A cell has two remembered accesses (packed_access.h) in place, `write` and `read`. What does not fit (more than two accesses that
// matter, racy bytes) goes to a record (packed_record.h), and `write` says so. The locks held at an access are not
// kept: the context leads to them (runtime/lock_log.h).
//
// Filter. The word `read` is all that a read needs to look at, and `write` all that a write needs: a write that is remembered
// in place stands in both. Covers() tells, without a lock, that this very thread has recorded an access that makes a new one
// redundant. Its words are read while others may change them. That is sound because a word names its thread and its time:
// nobody else writes such a word, and the thread itself is busy reading.
//
// Refresh. A thread that reads shared data again and again, each time after having released something, finds its own word of
// the record out of date. It replaces that without the lock of the cell, and looks afterwards at whoever might have missed it.
//
// Recording. A cell without a record is changed without its lock, by compare-and-exchange of both words; or by two stores of
// whoever is alone (`is_alone`: nobody else can change the cell now; runtime/regions.h sees to that). Everything else takes
// the lock: `write` is exchanged for kLocked. Who is alone need not.
//
// Freed memory. Whoever touches it, in whatever order, is told of (EndsQuickly, Opened::End): the free is remembered as an access that nobody
// knows of, and beside it, for the report, who made it and when.
//
// Invariant and rules are those of AccessHistory. All-zero memory is an empty cell. Whoever makes one includes opened_packed_cell.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/arch.h"
#include "base/arena.h"
#include "base/mem.h"
#include "clocks/epoch.h"
#include "clocks/history_entry.h"
#include "clocks/packed_access.h"
#include "clocks/packed_record.h"
#include "clocks/packed_words.h"
#include "events/access.h"

namespace redflag {

template <class Mem>
class alignas(16) PackedCell {  // both words are compared and exchanged as one
 public:
  enum class Finding : uint8_t { kRedundant, kRaces, kNew };       // as of AccessHistory
  static constexpr uint32_t kSlots = PackedAccess::kMaxSlots - 1;  // and PackedAccess::kFreedSlot
  static constexpr uint64_t kTimes = PackedAccess::kMaxTime;
  static constexpr bool kKeepsLocks = false;

  using Words = PackedWords;
  [[gnu::always_inline]] Words Load() const {
    const uint64_t write = __atomic_load_n(&write_, __ATOMIC_ACQUIRE);
    return {.write = write, .read = __atomic_load_n(&read_, __ATOMIC_ACQUIRE)};
  }
  bool CompareExchange(Words old, Words fresh) {
    return arch::CompareExchangePair(&write_, old.write, old.read, fresh.write, fresh.read);
  }

  // By whoever is alone.
  [[gnu::always_inline]] void Store(Words fresh) {
    __atomic_store_n(&read_, fresh.read, __ATOMIC_RELAXED);
    __atomic_store_n(&write_, fresh.write, __ATOMIC_RELAXED);
  }

  bool has_record() const { return PackedRecord::IsHandle(__atomic_load_n(&read_, __ATOMIC_RELAXED)); }

  // Did the thread that makes `access` record one that makes it redundant? Takes no lock; "no" proves nothing.
  bool Covers(PackedAccess access) const {
    const uint64_t read = __atomic_load_n(&read_, __ATOMIC_RELAXED);
    if (PackedAccess(read).Covers(access)) return true;
    const uint64_t write = __atomic_load_n(&write_, __ATOMIC_ACQUIRE);
    if (write != kSpilled) return PackedAccess(write).Covers(access);
    // The record may be given back and used for another cell meanwhile; it stays readable, and no word in it is this
    // thread's unless it was recorded here.
    const PackedRecord* record = PackedRecord::Of(__atomic_load_n(&read_, __ATOMIC_ACQUIRE));
    if (record == nullptr) return false;
    const uint32_t capacity = record->CapacityNow();
    for (uint32_t i = 0; i < capacity; ++i) {
      if (PackedAccess(record->Word(i)).Covers(access)) return true;
    }
    return false;
  }

  // The same, if that is to be seen at a glance.
  [[gnu::always_inline]] bool CoversInPlace(PackedAccess access) const {
    const Words words = Load();
    return PackedAccess(words.read).Covers(access) || PackedAccess(words.write).Covers(access);
  }

  // The same in a record, where the thread's latest access stands.
  [[gnu::always_inline]] bool CoversAtHome(PackedAccess access) const {
    const uint64_t handle = __atomic_load_n(&read_, __ATOMIC_ACQUIRE);
    const PackedRecord* record = PackedRecord::Of(handle);
    if (record == nullptr) return false;
    return PackedAccess(record->Word(PackedRecord::HomeOf(PackedRecord::IsSmall(handle), access.slot())))
        .Covers(access);
  }

  // Records `mine`, a plain access, in the usual case by far: there is no record, all that matters to it is this thread's or ordered before,
  // and it takes the place of what its filter looks at. `is_alone`: nobody else can change the cell now. "no": nothing has changed.
  template <AccessKind kKind, class Clock>
  [[gnu::always_inline]] bool RecordsQuickly(const Clock& clock, PackedAccess mine, bool is_alone) {
    const Words words = Load();
    Words fresh = words;
    if (!words.is_in_place() || !ReplaceQuickly<kKind>(clock, mine, fresh)) return false;
    if (!is_alone) return CompareExchange(words, fresh);
    Store(fresh);
    return true;
  }

  // The same where `mine` is a part of the granule and something is left of the rest.
  template <class Clock>
  [[gnu::noinline]] bool RecordsBeside(const Clock& clock, PackedAccess mine, bool is_alone) {
    const Words words = Load();
    Words fresh = words;
    if (!words.is_in_place() || !ReplaceInPlace(clock, mine, NoMix(), fresh)) return false;
    if (!is_alone) return CompareExchange(words, fresh);
    Store(fresh);
    return true;
  }

  // Puts `mine` in the place of an access like it that was in `words`; `is_alone` as above. "no": the cell is not as it was, and nothing has changed.
  [[gnu::always_inline]] bool Renews(Words words, Renewed which, PackedAccess mine, bool is_alone) {
    if (!is_alone) {
      return CompareExchange(words, {.write = which != Renewed::kRead ? mine.word() : words.write,
                                     .read = which != Renewed::kWrite ? mine.word() : words.read});
    }
    if (__atomic_load_n(&write_, __ATOMIC_RELAXED) != words.write) return false;
    if (__atomic_load_n(&read_, __ATOMIC_RELAXED) != words.read) return false;
    if (which != Renewed::kRead) __atomic_store_n(&write_, mine.word(), __ATOMIC_RELAXED);
    if (which != Renewed::kWrite) __atomic_store_n(&read_, mine.word(), __ATOMIC_RELAXED);
    return true;
  }

  // The same, by whoever is alone, in a record that has nothing but what this thread did.
  [[gnu::always_inline]] bool RenewsInRecord(PackedAccess mine) {
    PackedRecord* record = PackedRecord::Of(__atomic_load_n(&read_, __ATOMIC_RELAXED));
    uint64_t* place = record != nullptr ? record->PlaceToRenew(mine) : nullptr;
    if (place == nullptr) return false;
    __atomic_store_n(place, mine.word(), __ATOMIC_RELAXED);
    return true;
  }

  // Records `mine`, a read, in a word apart, which is the thread's own; nobody may write here meanwhile. What the word can't say goes to the
  // cell: of a read that is older and has more bytes, the rest. "no": the cell has to record it, and nothing has changed but for reads of the thread's that it covers.
  template <class Clock, class Mix>
  bool ReadsApart(Arena<Mem>& arena, const Clock& clock, uint64_t* word, PackedAccess mine, Mix mix) {
    const PackedAccess old(*word);
    if constexpr (kIsOrderAll<Clock>) {
      // Nobody has written since the old one was compared with what is here.
      if (!Contains(old.bytes(), mine.bytes()) && MayRace(clock, mine)) return false;
    } else {
      mine = NewOf(old, mine);
      if (!Opened(*this).LeavesTo(arena, clock, mine)) return false;
      if (mine.word() == 0) return true;
    }
    PackedAccess fresh = mine;
    if (!Contains(mine.bytes(), old.bytes())) {
      if (old.SameMoment(mine)) {
        fresh = old.And(mine, mix);
        if (fresh.word() == 0) return false;
      } else {
        const PackedAccess rest = old.With(old.bytes() & ~mine.bytes());
        if constexpr (kIsOrderAll<Clock>) {
          Opened(*this).TakeIn(arena, rest);
        } else {
          Opened(*this).TakeInLatest(arena, rest);
        }
      }
    }
    __atomic_store_n(word, fresh.word(), __ATOMIC_RELAXED);
    return true;
  }

  // The same where it takes no look at anything else: there is no record, and one word can say it without a context that stands for several.
  template <class Clock>
  [[gnu::always_inline]] bool ReadsApartQuickly(const Clock& clock, uint64_t* word, PackedAccess mine) const {
    constexpr uint64_t kBytes = PackedAccess::kBytesField;
    const PackedAccess old(*word);
    const uint64_t rest = old.word() & ~mine.word() & kBytes;
    if (rest != 0 && !old.SameAccess(mine)) return false;
    if (!kIsOrderAll<Clock> || (mine.word() & ~old.word() & kBytes) != 0) {
      const Words words = Load();
      if constexpr (!kIsOrderAll<Clock>) {
        const auto is_read_by_me = [&](PackedAccess entry) {
          return entry.SameSlot(mine) && !IsWrite(entry.kind()) && Any(entry.bytes() & mine.bytes());
        };
        if (is_read_by_me(PackedAccess(words.write)) || is_read_by_me(PackedAccess(words.read))) return false;
        if (NewOf(PackedAccess(words.write), NewOf(old, mine)).word() != mine.word()) return false;
        if (NewOf(PackedAccess(words.read), mine).word() != mine.word()) return false;
      }
      if (!words.is_in_place() || RacesWith(clock, PackedAccess(words.write), mine) ||
          RacesWith(clock, PackedAccess(words.read), mine)) {
        return false;
      }
    }
    __atomic_store_n(word, mine.word() | rest, __ATOMIC_RELAXED);
    return true;
  }

  // Records `mine` by whoever is alone, if it goes on where the thread was, in a small record of its own (PackedRecord::GoesOn). "no": nothing
  // has changed.
  template <class Clock>
  [[gnu::always_inline]] bool GoesOn(const Clock&, PackedAccess mine) {
    const uint64_t handle = __atomic_load_n(&read_, __ATOMIC_RELAXED);
    if (!PackedRecord::IsHandle(handle) || !PackedRecord::IsSmall(handle)) return false;
    PackedRecord* record = PackedRecord::Of(handle);
    if constexpr (!kIsOrderAll<Clock>) {
      for (uint32_t i = 0; i < PackedRecord::kFirstCapacity; ++i) {
        if (NewOf(PackedAccess(record->Word(i)), mine).word() != mine.word()) return false;
      }
    }
    return record->GoesOn(mine);
  }

  // Records `mine` by whoever is alone in a record that has nothing but what this thread did, and no race, which may be watched. "no": what it covers may be gone, nothing else has changed.
  bool RecordsInOwn(PackedAccess mine) {
    PackedRecord* record = PackedRecord::Of(__atomic_load_n(&read_, __ATOMIC_RELAXED));
    return record != nullptr && !Any(record->racy) && record->ReplaceOwn(mine);
  }

  // Ends the history of a cell that has no record, as Opened::AddRacy would, if `mine`, a plain access to all of it, races there, and of the first access that it is not ordered after
  // is_known(other). `is_alone` as above. "no": nothing has changed.
  template <class Clock, class IsKnown>
  bool RacesAgain(const Clock& clock, PackedAccess mine, bool is_alone, IsKnown is_known) {
    const Words words = Load();
    if (mine.bytes() != kAllBytes || !words.is_in_place()) return false;
    PackedAccess first;
    bool races = false;
    const PackedAccess entries[] = {PackedAccess(words.write), PackedAccess(words.read)};
    for (const PackedAccess entry : entries) {
      if (entry.bytes() != kAllBytes || IsAtomic(entry.kind()) || entry.is_freed()) return false;
      if (entry.Covers(mine)) return false;
      if (!entry.ConflictsWith(mine) || Knows(clock, entry)) continue;
      if (first.word() == 0) first = entry;
      races = races || !KeepsApart(clock, entry, mine);
    }
    if (!races || !is_known(first)) return false;
    const Words fresh = {.write = kSpilled, .read = PackedRecord::HandleOfAllRaced()};
    if (!is_alone) return CompareExchange(words, fresh);
    Store(fresh);
    return true;
  }

  // Begins anew, as Opened::Restart, if all of it does so and there is no record; `is_alone` as above. "no": nothing has changed.
  [[gnu::always_inline]] bool RestartsQuickly(ByteMask bytes, PackedAccess first, bool is_alone) {
    const Words words = Load();
    if (bytes != kAllBytes || !(words.is_in_place() || words.has_all_raced())) return false;
    const Words fresh = {.write = first.word(), .read = first.word()};
    if (!is_alone) return (words.write == fresh.write && words.read == fresh.read) || CompareExchange(words, fresh);
    Store(fresh);
    return true;
  }

  // What is in a cell that is freed.
  static Words FreedBy(PackedAccess free) { return {.write = free.AsFreed().word(), .read = free.AsFreer().word()}; }

  // Records that all of it is freed, as RecordsQuickly and Opened::End would, if there is no record, and all that there is is ordered before. "no":
  // nothing has changed. `fresh`: FreedBy(free). `known`: what the last cell had of which it was so; many have the same.
  template <class Clock>
  [[gnu::always_inline]] bool EndsQuickly(const Clock& clock, PackedAccess free, Words fresh, bool is_alone,
                                          Words& known) {
    const Words words = Load();
    if (words.write != known.write || words.read != known.read) {
      const auto is_before = [&](PackedAccess entry) {
        return entry.word() == 0 || entry.SameSlot(free) || Knows(clock, entry);
      };
      if (free.bytes() != kAllBytes || !words.is_in_place() || !is_before(PackedAccess(words.write))) return false;
      if (words.read != words.write && !is_before(PackedAccess(words.read))) return false;
      known = words;
    }
    if (!is_alone) return CompareExchange(words, fresh);
    Store(fresh);
    return true;
  }

  // Does what there is to do for `mine` if it is one of the usual things; `is_alone` as above. "no": nothing has changed.
  template <class Clock, class Mix>
  bool TakesShortcut(Arena<Mem>& arena, const Clock& clock, PackedAccess mine, Mix mix, bool is_alone) {
    for (;;) {
      const Words old = Load();
      if (old.write == kSpilled) return TakesShortcutInRecord(arena, clock, mine, mix, is_alone);
      if (old.write == kLocked) {
        AwaitLock();
        continue;
      }
      Words fresh = old;
      if (!ReplaceInPlace(clock, mine, mix, fresh)) return false;
      if (is_alone) {
        Store(fresh);
        return true;
      }
      if (CompareExchange(old, fresh)) return true;
    }
  }

  // Renews the word of the accessing thread in the cell's record, if all else stays as it is; `is_alone` as above. "no": nothing has
  // changed.
  //
  // Whoever holds the lock of the cell meanwhile may have seen the old word, or put it back. So the new one is stored first;
  // if after that the lock is free, the record the same, and the word still there, then who comes later sees it, and what
  // who came earlier has stored is in the record to be seen. It need not be looked at if it would have taken the old word away.
  template <class Clock>
  [[gnu::always_inline]] bool Refresh(const Clock& clock, PackedAccess mine, bool is_alone) {
    if (!kIsOrderAll<Clock>) return false;  // other words of the thread may have to go as well
    const uint64_t handle = __atomic_load_n(&read_, __ATOMIC_ACQUIRE);
    PackedRecord* record = PackedRecord::Of(handle);  // of this cell, or of another by now
    if (record == nullptr || Any(record->racy)) return false;
    uint64_t* home = &record->words[PackedRecord::HomeOf(PackedRecord::IsSmall(handle), mine.slot())];
    PackedAccess old(__atomic_load_n(home, __ATOMIC_RELAXED));
    // One that has more bytes, or is stronger, may cover other words of the thread, which have to go.
    if (!old.IsRenewedBy(mine)) {
      const uint32_t capacity = record->CapacityNow();
      if (capacity <= PackedRecord::kHomes) return false;
      home = &record->words[PackedRecord::FarHomeOf(capacity, mine.slot())];
      old = PackedAccess(__atomic_load_n(home, __ATOMIC_RELAXED));
      if (!old.IsRenewedBy(mine)) return false;
    }
    if (is_alone) {  // a record of its own may not be needed any more
      if (!record->is_plain || record->IsOwn(mine.slot())) return false;
      __atomic_store_n(home, mine.word(), __ATOMIC_RELAXED);
      return true;
    }
    if (!Exchange(home, old, mine)) return false;
    const bool is_kept = __atomic_load_n(&write_, __ATOMIC_SEQ_CST) == kSpilled &&
                         __atomic_load_n(&read_, __ATOMIC_ACQUIRE) == handle &&
                         __atomic_load_n(home, __ATOMIC_ACQUIRE) == mine.word();
    if (is_kept && (record->is_plain || !RacesInRecord(clock, record, mine))) return true;
    Exchange(home, mine, old);
    return false;
  }

  class Opened;  // whose lock is held (clocks/opened_packed_cell.h)

  void Clear(Arena<Mem>& arena) { Opened(*this).Clear(arena); }

 private:
  static constexpr uint64_t kLocked = Words::kLocked, kSpilled = Words::kSpilled;
  static constexpr uint32_t kQuickCapacity = 31;  // of a record: up to here it pays to look at all

  template <class Clock, class Mix>
  [[gnu::noinline]] bool TakesShortcutInRecord(Arena<Mem>& arena, const Clock& clock, PackedAccess mine, Mix mix,
                                               bool is_alone) {
    if (IsIgnored(mine)) return true;
    if (mine.kind() != AccessKind::kWrite && Refresh(clock, mine, is_alone)) return true;
    Opened opened(*this, is_alone);
    if (!opened.is_spread()) return false;
    if constexpr (!kIsOrderAll<Clock>) {
      mine = opened.NewOf(mine);
      if (mine.word() == 0) return true;
    }
    return opened.ReplaceOwn(mine) || opened.ReplaceInRecord(arena, clock, mine, mix);
  }

  // Is there something that `mine`, a read, may race with, or that it need not be remembered for? Nobody may write here meanwhile.
  template <class Clock>
  bool MayRace(const Clock& clock, PackedAccess mine) {
    const Words words = Load();
    if (words.is_in_place()) {
      return RacesWith(clock, PackedAccess(words.write), mine) || RacesWith(clock, PackedAccess(words.read), mine);
    }
    const Opened opened(*this);
    return Any(opened.racy()) || opened.Races(clock, mine);
  }

  // Have all of its bytes had their race?
  bool IsIgnored(PackedAccess mine) const {
    const uint64_t handle = __atomic_load_n(&read_, __ATOMIC_ACQUIRE);
    const PackedRecord* record = PackedRecord::Of(handle);
    if (record == nullptr) return false;
    const bool all_raced = Contains(record->RacyNow(), mine.bytes());
    return all_raced && __atomic_load_n(&read_, __ATOMIC_RELAXED) == handle;  // it is still the record of this cell
  }

  static bool Exchange(uint64_t* place, PackedAccess old, PackedAccess fresh) {
    uint64_t expected = old.word();
    return __atomic_compare_exchange_n(place, &expected, fresh.word(), false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
  }
  template <class Clock>
  [[gnu::noinline]] static bool RacesInRecord(const Clock& clock, const PackedRecord* record, PackedAccess mine) {
    const uint32_t capacity = record->CapacityNow();
    for (uint32_t i = 0; i < capacity; ++i) {
      if (const uint64_t word = record->Word(i); word != 0 && RacesWith(clock, PackedAccess(word), mine)) return true;
    }
    return false;
  }
  uint64_t Lock() {
    uint64_t word = __atomic_exchange_n(&write_, kLocked, __ATOMIC_SEQ_CST);
    if (word == kLocked) [[unlikely]]
      word = LockLate();
    if (word == kSpilled) arch::FenceAfterExchange();  // for Refresh: locked before the words are read
    return word;
  }
  void Unlock(uint64_t write, uint64_t read) {
    if (read != read_) __atomic_store_n(&read_, read, __ATOMIC_RELEASE);
    __atomic_store_n(&write_, write, __ATOMIC_RELEASE);
  }
  [[gnu::noinline]] void AwaitLock() const {
    AtomicMem::Wait wait;
    while (__atomic_load_n(&write_, __ATOMIC_RELAXED) == kLocked) wait.Once();
  }
  [[gnu::noinline]] uint64_t LockLate() {
    uint64_t word = kLocked;
    do {
      AwaitLock();
      word = __atomic_exchange_n(&write_, kLocked, __ATOMIC_SEQ_CST);
    } while (word == kLocked);
    return word;
  }

  uint64_t write_;
  uint64_t read_;
};
static_assert(sizeof(PackedCell<struct AnyMem>) == 16);

}  // namespace redflag
