// PackedCell::Opened: a packed cell whose lock is held, or that somebody is alone with: all that takes more than a glance at its two words. Accesses are found, kept, taken away and moved
// between the cell and its record (packed_record.h) here; what needs no lock is in packed_cell.h.
//
// Made by whoever examines, records or forgets accesses, on any thread, for as long as that takes; the destructor puts the words back and opens the lock. Nothing may be waited for meanwhile. Of one
// that is made `is_alone` the lock is not taken: nobody else can change the cell then.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/arena.h"
#include "clocks/history_entry.h"
#include "clocks/packed_access.h"
#include "clocks/packed_cell.h"
#include "clocks/packed_record.h"
#include "clocks/packed_words.h"
#include "events/access.h"

namespace redflag {

template <class Mem>
class PackedCell<Mem>::Opened {
 public:
  explicit Opened(PackedCell& cell, bool is_alone = false)
      : cell_(cell), write_(is_alone ? cell.write_ : cell.Lock()), read_(cell.read_) {}
  ~Opened() { cell_.Unlock(write_, read_); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  ByteMask racy() const { return is_spread() ? record()->racy : kNoBytes; }
  void AddRacy(Arena<Mem>& arena, ByteMask bytes) {
    if ((racy() | bytes) == kAllBytes) {
      FreeRecord(arena);
      write_ = kSpilled;
      read_ = PackedRecord::HandleOfAllRaced();
      return;
    }
    Forget(bytes);
    Spill(arena);
    record()->racy = record()->racy | bytes;
  }

  // As ReplaceInPlace, in a record, where the thread has a place of its own. A record of this thread alone goes back if two
  // words do. "no": what `mine` covers may be gone, nothing else has changed.
  template <class Clock, class Mix>
  bool ReplaceInRecord(Arena<Mem>& arena, const Clock& clock, PackedAccess mine, Mix mix) {
    PackedRecord* in = record();
    if (in->capacity > kQuickCapacity || Any(in->racy)) return false;
    const uint32_t home = in->HomeOf(mine.slot());
    uint32_t used = 0;
    uint32_t room = 0;
    uint32_t same = 0;  // by this thread, now
    bool shared = false;
    bool others = false;  // have something left
    bool races = false;
    for (uint32_t i = 0; i < in->capacity; ++i) {
      const PackedAccess entry(in->Word(i));
      if (entry.Covers(mine)) return true;
      if (entry.word() != 0) {
        used |= 1u << i;
        shared |= entry.slot() != mine.slot();
      }
      const PackedAccess left = LeftOf(clock, entry, mine, races);
      if (left.word() != entry.word()) in->Set(i, left.word());
      if (left.word() == 0) {
        room |= 1u << i;
      } else if (left.SameMoment(mine)) {
        same |= 1u << i;
      } else {
        others |= left.slot() != mine.slot();
      }
    }
    if (races) return false;
    PackedAccess fresh = mine;
    for (; same != 0; same &= same - 1) {
      const auto i = static_cast<uint32_t>(__builtin_ctz(same));
      const PackedAccess both = PackedAccess(in->Word(i)).And(fresh, mix);
      if (both.word() == 0) continue;
      fresh = both;
      in->Set(i, 0);
      room |= 1u << i;
    }
    const uint32_t kept = used & ~room;
    if (!shared && (kept & (kept - 1)) == 0) {
      const uint64_t other = kept == 0 ? 0 : in->Word(static_cast<uint32_t>(__builtin_ctz(kept)));
      in->Free(arena);
      const bool is_write = IsWrite(mine.kind());
      write_ = is_write ? fresh.word() : other;
      read_ = is_write && other != 0 ? other : fresh.word();
      return true;
    }
    uint32_t place = home;
    if ((room >> home & 1) == 0) {
      if (room == 0) return false;
      place = static_cast<uint32_t>(__builtin_ctz(room));
      if (const PackedAccess there(in->Word(home)); there.slot() == mine.slot()) {
        in->Set(place, there.word());  // it makes room: the latest is looked for at home
        place = home;
      }
    }
    in->owner = others ? PackedRecord::kSeveral : PackedRecord::kNobody;
    in->Admit(mine);
    in->Set(place, fresh.word());
    return true;
  }

  bool ReplaceOwn(PackedAccess mine) { return is_spread() && record()->ReplaceOwn(mine); }

  // As of words.
  PackedAccess NewOf(PackedAccess mine) const {
    ForEach([&](PackedAccess entry) {
      mine = redflag::NewOf(entry, mine);
      return mine.word() != 0;
    });
    return mine;
  }

  template <class Clock>
  Finding Examine(const Clock& clock, const HistoryEntry& access) const {
    const PackedAccess mine(access);
    Finding finding = Finding::kNew;
    ForEach([&](PackedAccess entry) {
      if (entry.Covers(mine)) {
        finding = Finding::kRedundant;
        return false;
      }
      if (RacesWith(clock, entry, mine)) finding = Finding::kRaces;
      return true;
    });
    return finding;
  }

  template <class Clock>
  bool Races(const Clock& clock, PackedAccess mine) const {
    bool races = false;
    ForEach([&](PackedAccess entry) { return !(races = RacesWith(clock, entry, mine)); });
    return races;
  }

  template <class Clock, class Visitor>
  void ForEachRace(const Clock& clock, const HistoryEntry& access, Visitor visit) const {
    const PackedAccess mine(access);
    ForEach([&](PackedAccess entry) {
      if (!RacesWith(clock, entry, mine)) return true;
      if (entry.is_freed()) {
        visit(FreeOf(entry, mine));
      } else if (!IsFreer(entry)) {
        visit(entry.Unpacked());
      }
      return true;
    });
  }

  // The same, for detectors that ask one after the other: what is new of it, and what is not ordered.
  ByteMask NewBytes(const HistoryEntry& access) const {
    const PackedAccess mine(access);
    ByteMask bytes = access.bytes;
    ForEach([&](PackedAccess entry) {
      if (entry.With(kAllBytes).Covers(mine)) bytes = bytes & ~entry.bytes();
      return true;
    });
    return bytes;
  }
  template <class Clock, class Visitor>
  void ForEachUnordered(const Clock& clock, const HistoryEntry& access, Visitor visit) const {
    ForEachRace(clock, access, visit);
  }
  template <class Clock>
  uint32_t RecordSegment(Arena<Mem>& arena, const Clock& clock, const HistoryEntry& access, uint32_t) {
    Record(arena, clock, access);
    return 0;
  }

  // Remembers `access`, which raced with nothing on its bytes, and drops what it covers.
  template <class Clock>
  void Record(Arena<Mem>& arena, const Clock& clock, const HistoryEntry& access) {
    const PackedAccess mine(access);
    Filter([&](PackedAccess entry) {
      const bool covered =
          Any(entry.bytes() & mine.bytes()) && redflag::Covers(mine.kind(), entry.kind()) && Knows(clock, entry);
      return covered ? entry.With(entry.bytes() & ~mine.bytes()) : entry;
    });
    Insert(arena, mine);
  }

  // Remembers `access`, which stands for nothing but what the same thread did that is_old(epoch).
  template <class IsOld>
  void RecordBeside(Arena<Mem>& arena, const HistoryEntry& access, IsOld is_old) {
    const PackedAccess mine(access);
    Filter([&](PackedAccess entry) {
      const bool covered = entry.SameSlot(mine) && Any(entry.bytes() & mine.bytes()) &&
                           redflag::Covers(mine.kind(), entry.kind()) && is_old(entry.Unpacked().epoch);
      return covered ? entry.With(entry.bytes() & ~mine.bytes()) : entry;
    });
    Insert(arena, mine);
  }

  // `mine`, a read, is about to be remembered elsewhere, where more than the order counts: what is new of it stays, and of what it is new for, the thread's reads that are here go. "no": there
  // is something that it may race with, or that it need not be remembered for, and nothing has changed here.
  template <class Clock>
  bool LeavesTo(Arena<Mem>& arena, const Clock& clock, PackedAccess& mine) {
    mine = NewOf(mine);
    if (Any(racy()) || Races(clock, mine)) return false;
    Filter([&](PackedAccess entry) {
      const bool is_older = entry.SameSlot(mine) && redflag::Covers(mine.kind(), entry.kind());
      return is_older ? entry.With(entry.bytes() & ~mine.bytes()) : entry;
    });
    if (is_spread()) Fold(arena);
    return true;
  }

  // Remembers a read that stood elsewhere until now, and was compared with all that is here when it was made. Of what its thread did,
  // the latest counts.
  void TakeIn(Arena<Mem>& arena, PackedAccess read) {
    ByteMask bytes = read.bytes() & ~racy();
    ForEach([&](PackedAccess entry) {
      const bool is_later = entry.SameSlot(read) && entry.time() >= read.time();
      if (is_later && redflag::Covers(entry.kind(), read.kind())) bytes = bytes & ~entry.bytes();
      return true;
    });
    TakeInLatest(arena, read.With(bytes));
  }
  // The same if its thread has done nothing here since.
  void TakeInLatest(Arena<Mem>& arena, PackedAccess read) {
    const ByteMask bytes = read.bytes() & ~racy();
    if (!Any(bytes)) return;
    Filter([&](PackedAccess entry) {
      const bool is_older = entry.SameSlot(read) && redflag::Covers(read.kind(), entry.kind());
      return is_older ? entry.With(entry.bytes() & ~bytes) : entry;
    });
    Insert(arena, read.With(bytes));
  }

  // Begins anew: nothing is known of these bytes but this access.
  void Restart(Arena<Mem>& arena, const HistoryEntry& first) {
    if (first.bytes == kAllBytes && (!is_spread() || has_all_raced())) {
      write_ = read_ = PackedAccess(first).word();
      return;
    }
    Clear(arena, first.bytes);
    Insert(arena, PackedAccess(first));
  }

  // The memory is freed, by an access that raced with nothing, or has been told of.
  void End(Arena<Mem>& arena, PackedAccess free) {
    if (Any(racy())) return;
    Forget(free.bytes());
    if (is_spread()) Fold(arena);
    Insert(arena, free.AsFreed());
    Insert(arena, free.AsFreer());
  }

  bool is_spread() const { return write_ == kSpilled; }

  void Clear(Arena<Mem>& arena, ByteMask bytes = kAllBytes) {
    Forget(bytes);
    if (!is_spread()) return;
    if (has_all_raced()) {  // which is not this cell's alone
      write_ = read_ = 0;
      if (bytes == kAllBytes) return;
      Spill(arena);
      record()->racy = kAllBytes;
    }
    record()->racy = record()->racy & ~bytes;
    Fold(arena);
  }

 private:
  bool has_all_raced() const { return read_ == PackedRecord::HandleOfAllRaced(); }
  void FreeRecord(Arena<Mem>& arena) {
    if (is_spread() && !has_all_raced()) record()->Free(arena);
  }
  PackedRecord* record() const { return PackedRecord::Of(read_); }

  bool IsFreer(PackedAccess access) const {
    bool found = false;
    ForEach([&](PackedAccess entry) { return !(found = access.IsFreerOf(entry)); });
    return found;
  }
  // The free that `freed` stands for, as it happened.
  HistoryEntry FreeOf(PackedAccess freed, PackedAccess mine) const {
    HistoryEntry entry = freed.Unpacked();
    entry.epoch = mine.epoch();
    ForEach([&](PackedAccess freer) {
      if (!freer.IsFreerOf(freed)) return true;
      entry.epoch = freer.epoch();
      return false;
    });
    return entry;
  }

  // Calls visit(access) for each until it answers false.
  template <class Visitor>
  void ForEach(Visitor visit) const {
    if (!is_spread()) {
      if (write_ != 0 && !visit(PackedAccess(write_))) return;
      if (read_ != 0 && read_ != write_) visit(PackedAccess(read_));
      return;
    }
    const auto* from = record();
    for (uint32_t i = 0; i < from->capacity; ++i) {
      const uint64_t word = from->Word(i);
      if (word != 0 && !visit(PackedAccess(word))) return;
    }
  }

  // Replaces each by change(access).
  template <class Change>
  void Filter(Change change) {
    if (!is_spread()) {
      const bool one = read_ == write_;
      if (write_ != 0) write_ = change(PackedAccess(write_)).word();
      read_ = one ? write_ : read_ == 0 ? 0 : change(PackedAccess(read_)).word();
      return;
    }
    auto* in = record();
    for (uint32_t i = 0; i < in->capacity; ++i) {
      const uint64_t word = in->Word(i);
      if (word == 0) continue;
      if (const uint64_t changed = change(PackedAccess(word)).word(); changed != word) in->Set(i, changed);
    }
  }

  void Forget(ByteMask bytes) {
    Filter([&](PackedAccess entry) { return entry.With(entry.bytes() & ~bytes); });
  }

  void Insert(Arena<Mem>& arena, PackedAccess mine) {
    if (!is_spread()) {
      if (InsertInPlace(mine)) return;
      Spill(arena);
    }
    InsertIntoRecord(arena, mine);
  }

  bool InsertInPlace(PackedAccess mine) {
    const bool one = read_ == write_;
    if (write_ != 0 && PackedAccess(write_).SameAccess(mine)) {
      write_ = mine.With(mine.bytes() | PackedAccess(write_).bytes()).word();
      if (one) read_ = write_;
      return true;
    }
    if (!one && read_ != 0 && PackedAccess(read_).SameAccess(mine)) {
      read_ = mine.With(mine.bytes() | PackedAccess(read_).bytes()).word();
      return true;
    }
    // A read prefers its own place, and may have that of the copy of the write; a write likes to have both.
    if (IsWrite(mine.kind())) {
      if (write_ == 0) {
        write_ = mine.word();
        if (read_ == 0) read_ = write_;
        return true;
      }
      if (read_ != 0 && !one) return false;
      read_ = mine.word();
      return true;
    }
    if (read_ == 0 || one) {
      read_ = mine.word();
      return true;
    }
    if (write_ != 0) return false;
    write_ = mine.word();
    return true;
  }

  void InsertIntoRecord(Arena<Mem>& arena, PackedAccess mine) {
    auto* in = record();
    uint32_t free = in->FreeHomeOf(mine.slot());
    for (uint32_t i = 0; i < in->capacity; ++i) {
      const PackedAccess entry(in->Word(i));
      if (entry.word() == 0) {
        if (free == in->capacity) free = i;
      } else if (entry.SameAccess(mine)) {
        in->Set(i, mine.With(mine.bytes() | entry.bytes()).word());
        return;
      }
    }
    if (free == in->capacity) return Grow(arena)->Place(mine.word());
    in->Admit(mine);
    in->Set(free, mine.word());
  }

  void Spill(Arena<Mem>& arena) {
    if (is_spread()) return;
    auto* fresh = PackedRecord::New(arena, PackedRecord::kFirstCapacity);
    if (write_ != 0) fresh->Place(write_);
    if (read_ != 0 && read_ != write_) fresh->Place(read_);
    read_ = fresh->Handle();
    write_ = kSpilled;
  }

  PackedRecord* Grow(Arena<Mem>& arena) {
    auto* old = record();
    auto* fresh = PackedRecord::New(arena, old->capacity * 2 + 1);
    fresh->racy = old->racy;
    for (uint32_t i = 0; i < old->capacity; ++i) {
      if (const uint64_t word = old->Word(i); word != 0) fresh->Place(word);
    }
    old->Free(arena);
    read_ = fresh->Handle();
    return fresh;
  }

  // Back in place, if what is left fits and no byte is racy.
  void Fold(Arena<Mem>& arena) {
    auto* old = record();
    uint64_t left[2] = {};
    uint32_t count = 0;
    for (uint32_t i = 0; i < old->capacity; ++i) {
      const uint64_t word = old->Word(i);
      if (word == 0) continue;
      if (count == 2) return;
      left[count++] = word;
    }
    if (Any(old->racy)) return;
    old->Free(arena);
    write_ = left[0];
    read_ = count == 2 ? left[1] : left[0];
  }

  PackedCell& cell_;
  uint64_t write_;
  uint64_t read_;
};

}  // namespace redflag
