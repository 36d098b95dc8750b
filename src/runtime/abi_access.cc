// What the compiler's calls before each access to memory come to that the first filter does not know (entry_points.cc), and calls that are made less often.
//
// Each function has the signature of the entry point and is called last, so that it becomes a jump and finds the program's return address as its own. Filters have no frame.
#include <cstdint>

#include "base/tail_call.h"
#include "clocks/packed_record.h"
#include "runtime/abi.h"
#include "runtime/emit.h"
#include "runtime/filter.h"
#include "runtime/gate.h"
#include "runtime/library_rules.h"
#include "runtime/linked.h"
#include "runtime/plain_code.h"
#include "runtime/runtime.h"
#include "runtime/transactions.h"
#include "runtime/watch.h"

namespace redflag::rt {
namespace {

using Words = Detector::Cell::Words;
inline Detector::Cell& CellOf(const void* p) {
  return *reinterpret_cast<Detector::Cell*>(local.cells + (reinterpret_cast<uint64_t>(p) & local.fold) * 2);
}

// Does the table of what the thread has seen say it?
template <bool kIsWrite>
[[gnu::always_inline]] inline bool IsSeen(const void* p, uint64_t needed) {
  const auto addr = reinterpret_cast<uint64_t>(p);
  return IsHit(local.seen[SeenIndex(addr, kIsWrite)] ^ SeenWord(addr, local.now, kIsWrite), needed);
}

// What stands where the thread's latest access does in the record of this handle.
inline uint64_t WordAtHome(uint64_t handle) {
  const auto* record = reinterpret_cast<const char*>(handle << PackedRecord::kHandleShift);
  const auto* home = reinterpret_cast<const uint64_t*>(record + local.homes[PackedRecord::IsSmall(handle)]);
  return __atomic_load_n(home, __ATOMIC_RELAXED);
}

// A second chance, when the filter word tells nothing. If the cell has a record, as data that several threads use does, then that has
// a place for this thread, and what was found there before stands in the table of what the thread has seen. Otherwise the
// word that the filter did not look at may tell: fields that share a granule may have been written and read.
template <bool kIsWrite>
[[gnu::always_inline]] inline bool IsHitAgain(const void* p, uint64_t needed) {
  const Words words = CellOf(p).Load();
  if (!PackedRecord::IsHandle(words.read)) {
    return IsHit(DifferenceToTag<kIsWrite>(kIsWrite ? words.read : words.write), needed);
  }
  const auto addr = reinterpret_cast<uint64_t>(p);
  if (IsSeen<kIsWrite>(p, needed)) return true;
  // Data that is handed on in ways that the detector does not know has a race in every granule.
  if (!kGoesByOrder && words.has_all_raced()) return !Watch::MayBeOn(&CellOf(p));
  const uint64_t found = DifferenceToTag<kIsWrite>(WordAtHome(words.read));
  if (!IsHit(found, needed)) return false;
  local.seen[SeenIndex(addr, kIsWrite)] = SeenWord(addr, local.now, kIsWrite) ^ (found & kBytesField);
  return true;
}

// For RecordsAtOnce, of one granule that several threads read.
template <class Cell>
[[gnu::always_inline]] inline bool ReadsAtOnce(Thread* t, const Cell& cell, const void* p, PackedAccess mine) {
  const auto addr = reinterpret_cast<uint64_t>(p) & ~(kGranule - 1);
  uint64_t* word = Runtime::Get().regions().PlaneWord(addr, mine.slot());
  if (word == nullptr) return false;
  if (PackedAccess(*word).Covers(mine)) return true;
  if (cell.ReadsApartQuickly(Detector::ClockOf(t->state), word, mine)) return true;
  t->mode.inside = Thread::kInside;  // may take locks
  return Runtime::Get().ReadsInPlane(*t, addr, word, mine);
}

// For RecordsAtOnce, of one granule whose record may be the thread's alone.
template <class Cell>
[[gnu::noinline]] bool RecordsInOwn(Cell& cell, const void* p, PackedAccess mine) {
  if (!cell.RecordsInOwn(mine)) return false;
  NoteSeen(reinterpret_cast<uint64_t>(p), mine.bytes(), IsWrite(mine.kind()));
  return true;
}

// For RecordsAtOnce, of one granule that has more to it than most.
[[gnu::noinline]] bool RecordsWithCare(Thread* t, const void* p, PackedAccess mine, bool is_alone) {
  t->mode.inside = Thread::kInside;  // may take locks
  Detector::Cell& cell = CellOf(p);
  if (cell.CoversInPlace(mine)) return true;  // of several granules not all are new
  const uint64_t granule = reinterpret_cast<uint64_t>(p) & ~(kGranule - 1);
  if (t->races_again) {  // most likely this one does too
    t->races_again = Runtime::Get().RacesAgain(*t, cell, granule, mine, is_alone);
    if (t->races_again) return true;
  }
  if (!Runtime::Get().TakesShortcut(*t, cell, mine, is_alone)) {
    t->races_again = Runtime::Get().RacesAgain(*t, cell, granule, mine, is_alone);
    if (!t->races_again) t->tried_in_vain = granule;
    return t->races_again;
  }
  if (cell.has_record()) NoteSeen(granule, mine.bytes(), IsWrite(mine.kind()));
  return true;
}

// May cells change in this window, in the ways of who is alone or of who is not?
template <AccessKind kKind>
[[gnu::always_inline]] inline bool MayRecord(const Regions::Window& window) {
  const bool may_read = kHasPlanes && kKind == AccessKind::kRead && window.is_reading();
  return window.is_owner() || window.is_shared() || may_read;
}

// Of one granule in a line that is the thread's: needs no context.
template <AccessKind kKind>
[[gnu::noinline]] bool LeavesLabel(Thread* t, const void* p, uint64_t needed, uint64_t outside) {
  const auto addr = reinterpret_cast<uint64_t>(p);
  const MemoryLine line = Runtime::Get().LineOf(*t, addr);
  const PackedAccess label(t->now | uint64_t{Raw(kKind)} << PackedAccess::kKindShift |
                           needed << PackedAccess::kBytesShift);
  t->SetModeWord(outside | Thread::kInWindow);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  bool done;
  {
    const Regions::Window window(addr);
    done = MayRecord<kKind>(window) && line.IsMine() && line.Leave(CellOf(p), label, window.is_owner());
  }
  t->SetModeWord(outside);
  return done;
}

// kIgnored: by a rule of the user's, and there is nothing to record.
enum class Outcome : uint8_t { kNotDone, kDone, kIgnored };

// For RecordsAtOnce, of a thread that is `outside`, in a context. One granule is in a line that is shared, if that matters.
template <AccessKind kKind, bool kIsLong>
[[gnu::always_inline]] inline Outcome RecordsLabel(Thread* t, uint64_t outside, const void* p, uint64_t needed,
                                                   ContextId context) {
  const auto addr = reinterpret_cast<uint64_t>(p);
  constexpr uint64_t kLongest = 24;
  if (kIsLong && Regions::IndexOf(addr) != Regions::IndexOf(addr + kLongest)) return Outcome::kNotDone;
  const uint64_t label = t->now | uint64_t{Raw(kKind)} << PackedAccess::kKindShift | Raw(context);
  t->SetModeWord(outside | Thread::kInWindow);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  bool done = false;
  {
    const Regions::Window window(addr);
    if (kHasPlanes && kKind == AccessKind::kRead && !window.is_reading()) Planes::Forget(local.planes, addr);
    const auto record = [&](const void* granule, uint64_t bytes) __attribute__((always_inline)) {
      const PackedAccess mine(label | bytes << PackedAccess::kBytesShift);
      Detector::Cell& cell = CellOf(granule);
      if (!MayRecord<kKind>(window)) return false;
      if (kIgnoresLines && kIsLong) {
        const MemoryLine line = Runtime::Get().LineOf(*t, reinterpret_cast<uint64_t>(granule));
        if (!line.IsShared()) return line.IsMine() && line.Leave(cell, mine, window.is_owner());
      }
      if constexpr (kHasPlanes && kKind == AccessKind::kRead) {
        if (window.is_reading()) return ReadsAtOnce(t, cell, granule, mine);
      }
      if constexpr (kGoesByOrder) {
        if (window.is_owner() && cell.has_record() && RecordsInOwn(cell, granule, mine)) return true;
      }
      return cell.RecordsQuickly<kKind>(Detector::ClockOf(t->state), mine, window.is_owner()) ||
             (bytes != kBytesField && cell.RecordsBeside(Detector::ClockOf(t->state), mine, window.is_owner())) ||
             (!kGoesByOrder && window.is_owner() && cell.GoesOn(Detector::ClockOf(t->state), mine)) ||
             (!IsWrite(kKind) && cell.Refresh(Detector::ClockOf(t->state), mine, window.is_owner())) ||
             RecordsWithCare(t, granule, mine, window.is_owner());
    };
    const auto* at = static_cast<const char*>(p);
    if constexpr (!kIsLong) {
      done = record(at, needed);
    } else if (needed == 0xffff) {
      done = record(at, kBytesField) && record(at + kGranule, kBytesField);
    } else {
      while (needed != 0 && record(at, needed & kBytesField)) {
        needed >>= 8;
        at += kGranule;
      }
      done = needed == 0;
    }
  }
  t->SetModeWord(outside);
  return done ? Outcome::kDone : Outcome::kNotDone;
}

// Of a thread that is `outside` but for its locks, which are not in the log yet: that takes no lock and changes nothing but what is its own. "no": somebody is at the gate, and nothing has changed.
[[gnu::noinline]] bool LogsLocks(Thread* t, uint64_t outside) {
  t->SetModeWord(outside | Thread::kInWindow);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  const bool may = !Gate::calls();
  if (may) Runtime::Get().LogLocks(*t);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  t->SetModeWord(may ? outside & ~Thread::LocksToLog() : outside);
  return may;
}

// Records an access if that is quickly done: the cells have no records, the context is one of the latest, and nothing is out of the
// ordinary. Takes no lock; in regions of the thread's own it needs no atomic instruction. `needed`: of one granule, or if
// kIsLong of several, 8 bits each.
template <AccessKind kKind, bool kIsLong>
[[gnu::always_inline]] inline Outcome RecordsAtOnce(const void* p, uint64_t needed, uint64_t place) {
  Thread* t = local.thread;
  if (kIsBoxed || t == nullptr) return Outcome::kNotDone;
  uint64_t outside = t->ModeWord();
  if (!Thread::IsOrdinary(outside, kKind)) {  // the first access with these locks, most often
    if (!Thread::IsOrdinary(outside & ~Thread::LocksToLog(), kKind) || !LogsLocks(t, outside)) return Outcome::kNotDone;
    outside = t->ModeWord();
  }
  if (kIgnoresLines && !kIsLong && !Runtime::Get().LineOf(*t, reinterpret_cast<uint64_t>(p)).IsShared()) {
    return LeavesLabel<kKind>(t, p, needed, outside) ? Outcome::kDone : Outcome::kNotDone;
  }
  const ContextId context = t->RememberedContextOf(place);
  if (Raw(context) <= Raw(kIgnoredContext)) [[unlikely]]
    return context == kIgnoredContext ? Outcome::kIgnored : Outcome::kNotDone;
  return RecordsLabel<kKind, kIsLong>(t, outside, p, needed, context);
}

// Records what was gathered of a granule.
template <AccessKind kKind>
[[gnu::noinline]] void RecordEntry(Thread* t, uint64_t outside, Gathered::Entry& entry) {
  const Gathered::Entry taken = entry;
  entry.key = 0;
  const ContextId context = t->RememberedContextOf(taken);  // a new one takes locks: inside
  const auto* granule = reinterpret_cast<const void*>(taken.granule());
  if (context != kNoContext &&
      RecordsLabel<kKind, false>(t, outside, granule, taken.bytes, context) == Outcome::kDone) {
    Detector::Count(t->state, kKind);
  } else if (t->mode.inside != 0) {
    Runtime::Get().RecordGathered(*t, taken);
  } else if (Thread* entered = Runtime::Enter(); entered != nullptr) {
    Runtime::Get().RecordGathered(*entered, taken);
    Runtime::Leave(entered);
  }
}

}  // namespace

void RecordAllGathered(Thread* t) {
  t->gathered.TakeAll([&](Gathered::Entry& entry) {
    if (IsWrite(entry.kind())) {
      RecordEntry<AccessKind::kWrite>(t, t->ModeWord(), entry);
    } else {
      RecordEntry<AccessKind::kRead>(t, t->ModeWord(), entry);
    }
  });
}

namespace {

template <int kSize, bool kIsLong, AccessKind kKind, void (*kSlow)(void*)>
void Record(void* p);
template <int kSize, AccessKind kKind, void (*kSlow)(void*)>
void GatherAnew(void* p);

// Puts an access to a part of a granule among those that wait (gathered.h). Without a frame.
template <int kSize, AccessKind kKind, void (*kSlow)(void*)>
[[gnu::noinline]] void Gather(void* p) {
  Thread* t = local.thread;
  if (kIsBoxed || t == nullptr) REDFLAG_TAIL_CALL Record<kSize, false, kKind, kSlow>(p);
  const uint64_t outside = t->ModeWord();
  if (!Thread::IsOrdinary(outside, kKind) || Policies::act_at_once()) {
    REDFLAG_TAIL_CALL Record<kSize, false, kKind, kSlow>(p);
  }
  const auto addr = reinterpret_cast<uint64_t>(p);
  // What is ignored is not gathered: it would be recorded later, when somebody else may have come.
  if (kIgnoresLines && !Runtime::Get().LineOf(*t, addr).IsShared()) {
    REDFLAG_TAIL_CALL Record<kSize, false, kKind, kSlow>(p);
  }
  const uint64_t needed = AlignedOf<kSize>(p);
  if (!IsWrite(kKind) && t->gathered.HasWritten(addr, needed)) return;
  const ContextId context = t->RememberedContextOf(REDFLAG_CALLER);
  if (Raw(context) <= Raw(kIgnoredContext)) REDFLAG_TAIL_CALL Record<kSize, false, kKind, kSlow>(p);
  const uint64_t key = Gathered::KeyOf(addr, IsWrite(kKind));
  Gathered::Entry* entry = t->gathered.Find(key);
  if (entry != nullptr ? (entry->bytes & needed) != 0 : t->gathered.is_full()) {
    REDFLAG_TAIL_CALL GatherAnew<kSize, kKind, kSlow>(p);
  }
  t->SetModeWord(outside | Thread::kInWindow);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  const bool may = !Gate::calls();
  if (may) {
    if (entry == nullptr) entry = &t->gathered.Append(key);
    entry->Add<kSize>(addr & 7, needed, context);
  }
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  t->SetModeWord(outside);
  if (!may) REDFLAG_TAIL_CALL Record<kSize, false, kKind, kSlow>(p);
}

// For Gather, if something has to be recorded first.
template <int kSize, AccessKind kKind, void (*kSlow)(void*)>
[[gnu::noinline]] void GatherAnew(void* p) {
  Thread* t = local.thread;
  const auto addr = reinterpret_cast<uint64_t>(p);
  const uint64_t needed = AlignedOf<kSize>(p);
  if (Gathered::Entry* entry = t->gathered.Find(Gathered::KeyOf(addr, IsWrite(kKind)))) {
    const bool again = (entry->bytes & needed) == needed;
    RecordEntry<kKind>(t, t->ModeWord(), *entry);
    if (again) return;
  } else {
    RecordAllGathered(t);
  }
  REDFLAG_TAIL_CALL Gather<kSize, kKind, kSlow>(p);
}

[[gnu::noinline]] void CheckMemory(void*) {
  Thread* thread = Runtime::Enter();
  if (thread == nullptr) return;
  Runtime::Get().KeepMemoryLimit(*thread);
  Runtime::Leave(thread);
}

// What an access comes to that no filter knows. kIsLong: one that may concern several granules.
template <int kSize, bool kIsLong, AccessKind kKind, void (*kSlow)(void*)>
[[gnu::noinline]] void Record(void* p) {
  const uint64_t needed = kIsLong ? NeededOf<kSize>(p) : AlignedOf<kSize>(p);
  const Outcome outcome = RecordsAtOnce<kKind, kIsLong>(p, needed, REDFLAG_CALLER);
  if (outcome == Outcome::kIgnored) return;
  if (outcome == Outcome::kNotDone) REDFLAG_TAIL_CALL kSlow(p);
  if (Detector::Count(local.thread->state, kKind) % Thread::kMemoryCheck == 0) REDFLAG_TAIL_CALL CheckMemory(p);
}

// What an access comes to that the first filter does not know.
template <int kSize, AccessKind kKind, void (*kSlow)(void*)>
[[gnu::always_inline]] inline void LookAtEach(void* p) {
  __builtin_prefetch(p, IsWrite(kKind));  // as in LookAgain
  const auto* at = static_cast<const char*>(p);
  uint64_t needed = NeededOf<kSize>(p);
  for (; needed != 0; needed >>= 8, at += kGranule) {
    const uint64_t here = needed & kBytesField;
    if (!IsSeen<IsWrite(kKind)>(at, here) && !IsKnown<kHasPlanes, IsWrite(kKind), false>(at, here) &&
        !IsHitAgain<IsWrite(kKind)>(at, here)) {
      break;
    }
  }
  if (needed != 0) REDFLAG_TAIL_CALL Record<kSize, true, kKind, kSlow>(p);
}

// A read of what several read, which the thread has made before, at an earlier time: the same bytes stand in its plane. Without a frame; what it can't do is done by
// Record from the beginning. A word of the thread's own tells that the plane is still of this page.
template <int kSize, void (*kSlow)(void*)>
[[gnu::noinline]] void ReadAnew(void* p) {
  constexpr AccessKind kKind = AccessKind::kRead;
  const auto addr = reinterpret_cast<uint64_t>(p);
  Thread* t = local.thread;
  const uint64_t outside = t->ModeWord();
  if (!Thread::IsOrdinary(outside, kKind)) REDFLAG_TAIL_CALL Record<kSize, false, kKind, kSlow>(p);
  const ContextId context = t->RememberedContextOf(REDFLAG_CALLER);
  if (Raw(context) <= Raw(kIgnoredContext)) REDFLAG_TAIL_CALL Record<kSize, false, kKind, kSlow>(p);
  const PackedAccess mine(t->now | uint64_t{Raw(kKind)} << PackedAccess::kKindShift |
                          AlignedOf<kSize>(p) << PackedAccess::kBytesShift | Raw(context));
  t->SetModeWord(outside | Thread::kInWindow);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  bool done = false;
  {
    const Regions::Window window(addr);
    uint64_t* word = Planes::Recall(local.planes, addr);
    if (window.is_reading() && word != nullptr && PackedAccess(*word).IsRenewedBy(mine)) {
      __atomic_store_n(word, mine.word(), __ATOMIC_RELAXED);  // nobody has written since
      done = true;
    }
  }
  t->SetModeWord(outside);
  if (!done) REDFLAG_TAIL_CALL Record<kSize, false, kKind, kSlow>(p);
  if (Detector::Count(t->state, kKind) % Thread::kMemoryCheck == 0) REDFLAG_TAIL_CALL CheckMemory(p);
}

// Does a read like this one, of an earlier time, stand where the thread's latest does in the record of this handle?
template <AccessKind kKind>
[[gnu::always_inline]] inline bool IsHomeOfOlder(uint64_t handle, PackedAccess now) {
  if (kKind != AccessKind::kRead) return false;
  return PackedAccess(WordAtHome(handle)).IsRenewedBy(now);
}

template <int kSize, AccessKind kKind, void (*kSlow)(void*)>
[[gnu::always_inline]] inline void RecordOrGather(void* p) {
  if constexpr (kSize < 8) {
    REDFLAG_TAIL_CALL Gather<kSize, kKind, kSlow>(p);
  } else {
    REDFLAG_TAIL_CALL Record<kSize, false, kKind, kSlow>(p);
  }
}

// An access like one that the thread made at an earlier time, in a region of its own or in one that is shared: nothing changes but its time and place. Without a frame; what they can't do is
// done by those who can, from the beginning. kIsInRecord: the cell has a record.
template <int kSize, AccessKind kKind, bool kIsInRecord, void (*kSlow)(void*)>
[[gnu::noinline]] void RecordAnew(void* p) {
  Thread* t = local.thread;
  if (t == nullptr) REDFLAG_TAIL_CALL RecordOrGather<kSize, kKind, kSlow>(p);
  const uint64_t outside = t->ModeWord();
  const auto addr = reinterpret_cast<uint64_t>(p);
  if (!Thread::IsOrdinary(outside, kKind)) REDFLAG_TAIL_CALL RecordOrGather<kSize, kKind, kSlow>(p);
  const PackedAccess now(t->now | uint64_t{Raw(kKind)} << PackedAccess::kKindShift |
                         AlignedOf<kSize>(p) << PackedAccess::kBytesShift);
  const Words words = CellOf(p).Load();
  Renewed which = Renewed::kNone;
  if constexpr (!kIsInRecord) {
    which = RenewedBy<kKind>(now, words);
    if (which == Renewed::kNone) {
      if (PackedRecord::IsHandle(words.read)) REDFLAG_TAIL_CALL RecordAnew<kSize, kKind, true, kSlow>(p);
      REDFLAG_TAIL_CALL RecordOrGather<kSize, kKind, kSlow>(p);
    }
  } else {
    PackedRecord* record = PackedRecord::Of(words.read);  // may be another cell's by now: then somebody came
    const bool is_own = Regions::IsOwn(addr);
    if (record == nullptr || (is_own ? record->PlaceToRenew(now) == nullptr : !IsHomeOfOlder<kKind>(words.read, now))) {
      REDFLAG_TAIL_CALL RecordOrGather<kSize, kKind, kSlow>(p);
    }
  }
  const ContextId context = t->RememberedContextOf(REDFLAG_CALLER);
  if (Raw(context) <= Raw(kIgnoredContext)) REDFLAG_TAIL_CALL RecordOrGather<kSize, kKind, kSlow>(p);
  t->SetModeWord(outside | Thread::kInWindow);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  bool done = false;
  {
    const Regions::Window window(addr);
    const PackedAccess mine(now.word() | Raw(context));
    const bool is_alone = window.is_owner();
    if (is_alone || window.is_shared()) {
      if (kHasPlanes && kKind == AccessKind::kRead) Planes::Forget(local.planes, addr);
      if constexpr (!kIsInRecord) {
        done = CellOf(p).Renews(words, which, mine, is_alone);
      } else if (is_alone) {
        done = CellOf(p).RenewsInRecord(mine);
      } else {
        done = kKind == AccessKind::kRead && CellOf(p).Refresh(Detector::ClockOf(t->state), mine, false);
      }
    }
  }
  t->SetModeWord(outside);
  if (!done) REDFLAG_TAIL_CALL RecordOrGather<kSize, kKind, kSlow>(p);
  if (kIsInRecord) NoteSeen(addr, now.bytes(), IsWrite(kKind));
  if (Detector::Count(t->state, kKind) % Thread::kMemoryCheck == 0) REDFLAG_TAIL_CALL CheckMemory(p);
}

// What an aligned access comes to that no filter knows. Accesses are renewed where nothing but their order counts.
template <int kSize, AccessKind kKind, void (*kSlow)(void*)>
[[gnu::always_inline]] inline void RecordSomehow(void* p) {
  if constexpr (kGoesByOrder) {
    REDFLAG_TAIL_CALL RecordAnew<kSize, kKind, false, kSlow>(p);
  } else {
    REDFLAG_TAIL_CALL RecordOrGather<kSize, kKind, kSlow>(p);
  }
}

// What a read comes to that the plane does not know.
template <int kSize, void (*kSlow)(void*)>
[[gnu::always_inline]] inline void LookBeyondPlane(void* p) {
  const uint64_t needed = AlignedOf<kSize>(p);
  if constexpr (kGoesByOrder) {
    const uint64_t* word = Planes::Recall(local.planes, reinterpret_cast<uint64_t>(p));
    if (word != nullptr) {  // a signal handler may have come since
      const uint64_t difference = DifferenceToTag<false>(__atomic_load_n(word, __ATOMIC_RELAXED));
      if ((difference & kAllButTime) == (kBytesField & ~needed)) REDFLAG_TAIL_CALL ReadAnew<kSize, kSlow>(p);
    }
  }
  if (!IsHitAgain<false>(p, needed)) REDFLAG_TAIL_CALL RecordSomehow<kSize, AccessKind::kRead, kSlow>(p);
}

// What an aligned access comes to that the cell does not know at first sight. The program will go to `p` itself: what it finds there comes meanwhile, also past the atomic instructions that are to come here.
template <int kSize, AccessKind kKind, void (*kSlow)(void*)>
[[gnu::always_inline]] inline void LookAgain(void* p) {
  __builtin_prefetch(p, IsWrite(kKind));
  if (!IsHitAgain<IsWrite(kKind)>(p, AlignedOf<kSize>(p))) REDFLAG_TAIL_CALL RecordSomehow<kSize, kKind, kSlow>(p);
}

inline void Slow(const void* p, uint64_t bytes, AccessKind kind, uint64_t place) {
  Thread* thread = Runtime::Enter();
  if (thread == nullptr) return;
  if (in_transaction) [[unlikely]]
    Runtime::Get().TransactionAccess(*thread, reinterpret_cast<uint64_t>(p), bytes, kind, place);
  Runtime::Get().AccessRange(*thread, reinterpret_cast<uint64_t>(p), bytes, kind, place);
  Runtime::Leave(thread);
}

// The same while accesses may be refused: whoever made the call that returns to `frame`'s return address will not get to the access then.
[[gnu::cold, gnu::noinline]] void CarefulAccess(const void* p, uint64_t bytes, AccessKind kind, void* frame,
                                                uint64_t place) {
  Thread* thread = Runtime::Enter();
  if (thread == nullptr) return;
  Refusal& refusal = thread->refusal;
  refusal.can_refuse = true;
  refusal.announced = {.addr = reinterpret_cast<uint64_t>(p), .bytes = bytes, .place = place, .kind = kind};
  Runtime::Get().AccessRange(*thread, refusal.announced.addr, bytes, kind, place);
  refusal.can_refuse = false;
  if (in_transaction) Runtime::Get().TransactionAccess(*thread, refusal.announced.addr, bytes, kind, place);
  Runtime::Leave(thread);
  if (refusal.pending != 0) Divert(static_cast<uint64_t*>(frame) + 1);
}

template <int kSize, AccessKind kKind>
[[gnu::noinline]] void SlowAccess(void* p) {
  if (Policies::are_on()) [[unlikely]] {
    CarefulAccess(p, kSize, kKind, __builtin_frame_address(0), REDFLAG_CALLER);
    asm volatile("");  // no jump: this frame has the return address
    return;
  }
  Slow(p, kSize, kKind, REDFLAG_CALLER);
}

// The same of an address that is a multiple of the size.
template <int kSize, AccessKind kKind>
[[gnu::noinline]] void AlignedAccess(void* p) {
  if (Policies::are_on()) [[unlikely]] {
    CarefulAccess(p, kSize, kKind, __builtin_frame_address(0), REDFLAG_CALLER);
    asm volatile("");  // no jump: this frame has the return address
    return;
  }
  Thread* thread = Runtime::Enter();
  if (thread == nullptr) return;
  const auto addr = reinterpret_cast<uint64_t>(p);
  const auto bytes = ByteMask(((1u << kSize) - 1) << (addr & 7));
  if (!thread->Ignores(kKind)) {
    Runtime::Get().AccessGranule(*thread, addr, bytes, kKind, REDFLAG_CALLER, kSize);
  } else if (in_transaction) {
    Runtime::Get().TransactionAccess(*thread, addr, kSize, kKind, REDFLAG_CALLER);
  }
  Runtime::Leave(thread);
}

// Of a pointer to a virtual table.
template <AccessKind kKind>
[[gnu::always_inline]] inline void RecordVptr(void** p, uint64_t caller) {
  const uint64_t place = caller | static_cast<uint64_t>(PlaceFlag::kVptr);
  if (IsHitAgain<IsWrite(kKind)>(p, kBytesField)) return;
  const Outcome outcome = RecordsAtOnce<kKind, false>(p, kBytesField, place);
  if (outcome == Outcome::kIgnored) return;
  if (outcome == Outcome::kNotDone) return Slow(p, sizeof *p, kKind, place);
  Detector::Count(local.thread->state, kKind);
}
[[gnu::noinline]] void RecordVptrUpdate(void** p, void*) { RecordVptr<AccessKind::kWrite>(p, REDFLAG_CALLER); }

}  // namespace
}  // namespace redflag::rt

using redflag::AccessKind;
using namespace redflag::rt;  // NOLINT: this file is the outside of that namespace

#define REDFLAG_ACCESSES(size)                                                       \
  void REDFLAG_LINKED(read##size)(void* p) {                                         \
    LookAgain<size, AccessKind::kRead, AlignedAccess<size, AccessKind::kRead>>(p);   \
  }                                                                                  \
  void REDFLAG_LINKED(read##size##_beyond_plane)(void* p) {                          \
    LookBeyondPlane<size, AlignedAccess<size, AccessKind::kRead>>(p);                \
  }                                                                                  \
  void REDFLAG_LINKED(write##size)(void* p) {                                        \
    LookAgain<size, AccessKind::kWrite, AlignedAccess<size, AccessKind::kWrite>>(p); \
  }
REDFLAG_ACCESSES(1)
REDFLAG_ACCESSES(2)
REDFLAG_ACCESSES(4)
REDFLAG_ACCESSES(8)
#undef REDFLAG_ACCESSES

#define REDFLAG_ACCESSES(size)                                                     \
  void REDFLAG_LINKED(long_read##size)(void* p) {                                  \
    LookAtEach<size, AccessKind::kRead, SlowAccess<size, AccessKind::kRead>>(p);   \
  }                                                                                \
  void REDFLAG_LINKED(long_write##size)(void* p) {                                 \
    LookAtEach<size, AccessKind::kWrite, SlowAccess<size, AccessKind::kWrite>>(p); \
  }
REDFLAG_ACCESSES(2)
REDFLAG_ACCESSES(4)
REDFLAG_ACCESSES(8)
REDFLAG_ACCESSES(16)
#undef REDFLAG_ACCESSES

void REDFLAG_LINKED(vptr_read)(void** p) { RecordVptr<AccessKind::kRead>(p, REDFLAG_CALLER); }
// Storing the same value again, as derived destructors do for their own type, changes nothing and is no race.
REDFLAG_ABI void __tsan_vptr_update(void** p, void* value) {
  if (*p == value || IsKnown<kHasPlanes, true, false>(p, kBytesField)) return;
  REDFLAG_TAIL_CALL RecordVptrUpdate(p, value);
}

REDFLAG_ABI void __tsan_read_range(void* p, unsigned long bytes) { Slow(p, bytes, AccessKind::kRead, REDFLAG_CALLER); }
REDFLAG_ABI void __tsan_write_range(void* p, unsigned long bytes) {
  Slow(p, bytes, AccessKind::kWrite, REDFLAG_CALLER);
}

// ---- Calls ----

void REDFLAG_LINKED(func_entry)(void* pc) { EnterFunction(reinterpret_cast<uint64_t>(pc)); }
void REDFLAG_LINKED(func_exit)() { LeaveFunction(); }

// Called by a constructor of every instrumented module.
REDFLAG_ABI void __tsan_init() {
  if (!Runtime::IsActive()) return;
  NoteInstrumented();
  Thread* t = Runtime::Enter();
  if (t == nullptr) return;
  if (Runtime::Get().flags().ignore_noninstrumented_modules) PlainCode::NoteInstrumented(REDFLAG_CALLER);
  MarkedCode::Load(Runtime::Get().flags(), REDFLAG_CALLER);
  LibraryRules::Check(Runtime::Get().flags());
  Runtime::Get().Record(*t);
  Runtime::Leave(t);
}
REDFLAG_ABI void __tsan_ignore_thread_begin() {
  if (Runtime::IsActive()) ++local.thread->mode.ignore;
}
REDFLAG_ABI void __tsan_ignore_thread_end() {
  if (Runtime::IsActive()) --local.thread->mode.ignore;
}
