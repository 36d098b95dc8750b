// What a new access means to those that are remembered as words (clocks/packed_access.h): which of them it races with, and what is left of
// them. And PackedWords: both words of a cell (clocks/packed_cell.h) as a value, and what becomes of them if that needs no record.
//
// Clock says what the accessing thread knows: Knows(slot, time). One that has KeepsApart(entry, mine) tells accesses apart by more than
// their order (detectors/hybrid.h): then an older access of the same thread may matter beside a newer one, and is dealt with byte by byte.
//
// Values and functions of them: no state, no locks.
#pragma once

#include <cstdint>
#include <type_traits>

#include "clocks/packed_access.h"
#include "clocks/packed_record.h"
#include "events/access.h"

namespace redflag {

// ---- One remembered access ----

template <class Clock>
[[gnu::always_inline]] inline bool Knows(const Clock& clock, PackedAccess entry) {
  return clock.Knows(entry.slot(), entry.time());
}

// Some detectors tell accesses apart by more than their order.
template <class Clock>
inline constexpr bool kIsOrderAll =
    !requires(const Clock& clock, PackedAccess access) { clock.KeepsApart(access, access); };

template <class Clock>
inline bool KeepsApart(const Clock& clock, PackedAccess entry, PackedAccess access) {
  if constexpr (kIsOrderAll<Clock>) {
    return false;
  } else {
    return clock.KeepsApart(entry, access);
  }
}

template <class Clock>
inline bool RacesWith(const Clock& clock, PackedAccess entry, PackedAccess access) {
  return entry.ConflictsWith(access) && !Knows(clock, entry) && !KeepsApart(clock, entry, access);
}

// Where more than the order counts: what of `mine` is not redundant because of what the same thread did at the same time. For the other bytes all
// stays as it is.
[[gnu::always_inline]] inline PackedAccess NewOf(PackedAccess entry, PackedAccess mine) {
  const bool is_same_time = ((entry.word() ^ mine.word()) & (PackedAccess::kTimeField | PackedAccess::kSlotField)) == 0;
  return is_same_time && Covers(entry.kind(), mine.kind()) ? mine.With(mine.bytes() & ~entry.bytes()) : mine;
}

// What is left of a remembered access when another one has come: what that covers goes.
template <class Clock>
[[gnu::always_inline]] inline PackedAccess LeftOf(const Clock& clock, PackedAccess entry, PackedAccess mine,
                                                  bool& races) {
  if (entry.word() == 0) return entry;
  if (!Knows(clock, entry)) {
    races |= entry.ConflictsWith(mine) && !KeepsApart(clock, entry, mine);
    return entry;
  }
  return Covers(mine.kind(), entry.kind()) ? entry.With(entry.bytes() & ~mine.bytes()) : entry;
}

// ---- Both words of a cell ----

// As seen without its lock: whoever changes them says what they were (PackedCell::CompareExchange).
struct PackedWords {
  // Words without bytes, so that they are no access; and kSpilled is nobody's time.
  static constexpr uint64_t kLocked = ~uint64_t{0} & ~(uint64_t{0xff} << PackedAccess::kBytesShift);
  static constexpr uint64_t kSpilled = kLocked ^ 1;

  uint64_t write;
  uint64_t read;
  bool has_all_raced() const { return write == kSpilled && read == PackedRecord::HandleOfAllRaced(); }
  bool is_in_place() const { return write >> PackedAccess::kSlotShift != kLocked >> PackedAccess::kSlotShift; }
};

// Which of the words is that of an access like `mine`, a plain one, of the same thread at an earlier time, whose place `mine` may take with nothing else to look at?
//
// A plain write that overlaps an older read of this thread's was before it: had it come later, it would have taken the read away, or raced with it. What a write overlaps
// it may have to take away.
enum class Renewed : uint8_t { kNone, kWrite, kRead, kBoth };
template <AccessKind kKind>
[[gnu::always_inline]] inline Renewed RenewedBy(PackedAccess mine, PackedWords words) {
  const bool is_first = PackedAccess(words.write).IsRenewedBy(mine);
  if (!is_first && (!PackedAccess(words.read).IsRenewedBy(mine) || !words.is_in_place())) return Renewed::kNone;
  if (words.read == words.write) return Renewed::kBoth;
  const PackedAccess other(is_first ? words.read : words.write);
  if ((other.word() & mine.word() & PackedAccess::kBytesField) != 0) {
    if (kKind == AccessKind::kWrite || (IsAtomic(other.kind()) && !other.SameSlot(mine))) return Renewed::kNone;
  }
  return is_first ? Renewed::kWrite : Renewed::kRead;
}

// In the usual case by far: all that matters to `mine`, a plain access, is this thread's or ordered before, and it takes the place of what its
// filter looks at. "no": nothing has changed.
template <AccessKind kKind, class Clock>
[[gnu::always_inline]] inline bool ReplaceQuickly(const Clock& clock, PackedAccess mine, PackedWords& words) {
  static_assert(kKind == AccessKind::kWrite || kKind == AccessKind::kRead);
  const auto known = [&](PackedAccess entry) { return entry.SameSlot(mine) || Knows(clock, entry); };
  const auto gives_way = [&](PackedAccess entry) {
    return entry.word() == 0 || (Contains(mine.bytes(), entry.bytes()) && Covers(kKind, entry.kind()) && known(entry));
  };
  const PackedAccess write(words.write);
  const PackedAccess read(words.read);
  if constexpr (!kIsOrderAll<Clock>) {
    if (NewOf(write, NewOf(read, mine)).word() != mine.word()) return false;
    const bool stays = kKind == AccessKind::kRead && Any(write.bytes() & mine.bytes()) && !IsWrite(write.kind());
    if (stays) return false;
  }
  const bool one = words.read == words.write;
  if constexpr (kKind == AccessKind::kWrite) {
    if (gives_way(write) && (one || gives_way(read))) {
      words.write = words.read = mine.word();
      return true;
    }
    if (!one || !write.SameAccess(mine)) return false;
    words.write = words.read = words.write | mine.word();
  } else {
    if (words.write != 0 && !known(write)) return false;
    if (one || gives_way(read)) {
      words.read = mine.word();
      return true;
    }
    if (!read.SameAccess(mine)) return false;
    words.read |= mine.word();
  }
  return true;
}

// `mine` takes the place of what it covers. If that leaves more than two, those that the same thread made at the same time to different bytes are made one. "no",
// also if there is a race: nothing has changed. Without a Mix only those from one place are.
struct NoMix {};
template <class Clock, class Mix>
[[gnu::always_inline]] inline bool ReplaceInPlace(const Clock& clock, PackedAccess mine, Mix mix, PackedWords& words) {
  bool races = false;
  if constexpr (!kIsOrderAll<Clock>) {
    mine = NewOf(PackedAccess(words.write), NewOf(PackedAccess(words.read), mine));
    if (mine.word() == 0) return true;
  }
  const PackedAccess write = LeftOf(clock, PackedAccess(words.write), mine, races);
  const PackedAccess read = LeftOf(clock, PackedAccess(words.read == words.write ? 0 : words.read), mine, races);
  if (races) return false;
  const PackedAccess left = write.word() != 0 ? write : read;
  const bool both_left = write.word() != 0 && read.word() != 0;
  const bool is_write = IsWrite(mine.kind());
  if (left.word() == 0) {
    words = {.write = is_write ? mine.word() : 0, .read = mine.word()};
    return true;
  }
  if (!both_left) {
    if (left.SameAccess(mine)) {
      const uint64_t both = left.word() | mine.word();
      words = {.write = is_write ? both : 0, .read = both};
    } else {  // each where its filter looks
      words = {.write = is_write ? mine.word() : left.word(), .read = is_write ? left.word() : mine.word()};
    }
    return true;
  }
  // With one from the same place, if there is one: a context that stands for several is dear.
  if (write.SameAccess(mine) || read.SameAccess(mine)) {
    const uint64_t more = mine.word() & PackedAccess::kBytesField;
    words = {.write = write.word() | (write.SameAccess(mine) ? more : 0),
             .read = read.word() | (write.SameAccess(mine) ? 0 : more)};
    return true;
  }
  if constexpr (std::is_same_v<Mix, NoMix>) {
    return false;
  } else {
    if (write.SameMoment(mine) || read.SameMoment(mine)) {
      const bool with_write = write.SameMoment(mine);
      const PackedAccess both = (with_write ? write : read).And(mine, mix);
      if (both.word() == 0) return false;
      words = {.write = (with_write ? both : write).word(), .read = (with_write ? read : both).word()};
      return true;
    }
    if (!write.SameMoment(read)) return false;
    const PackedAccess both = write.And(read, mix);
    if (both.word() == 0) return false;
    words = {.write = is_write ? mine.word() : both.word(), .read = is_write ? both.word() : mine.word()};
    return true;
  }
}

}  // namespace redflag
