// ThreadSlots: gives threads their positions in vector clocks, and remembers which thread owned a slot when.
//
// A program may create millions of threads; clocks must not grow with them. The slot of an ended thread A may
// go to a new thread B when everything A did is ordered before B's start, that is, when B's creator knows A's
// last time: then "knows B's time" implies "knew A's time" for ever after, because times of a slot only rise.
// Without that condition a race with A would be hidden. Slots whose last time the creator doesn't know are
// passed over, and a new one is made.
//
// Where clocks are labelled with few bits (clocks/packed_cell.h) slots and times are limited. When all slots are taken, an
// ended one is reused although its last time is not known to the creator, and then live ones are shared. Either can hide a
// race, neither invents one, and both are counted. If it is times that have run out (IsWorn), the engine does well to forget every
// label that there is, and to begin anew.
//
// Thread-safe under AtomicMem.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "base/check.h"
#include "base/vector.h"
#include "clocks/epoch.h"
#include "clocks/vector_clock.h"

namespace redflag {

template <class Mem>
class ThreadSlots {
 public:
  explicit ThreadSlots(Arena<Mem>& arena, uint32_t max_slots = kMaxSlots, uint64_t max_time = kMaxTime)
      : max_slots_(max_slots), max_time_(max_time), arena_(arena), slots_(arena), ended_(arena) {}

  // A slot for `thread`; its time starts at TimeOf(result). `creator` is the clock of the thread that creates
  // it, or null for a thread that nobody created.
  Epoch Claim(Tid thread, const VectorClock<Mem>* creator) {
    ScopedLock guard(lock_);
    if (creator != nullptr) {
      for (size_t i = 0; i < ended_.size() && i < kSlotsTried; ++i) {
        const Slot slot = ended_[i];
        const Time last = slots_[Raw(slot)].last;
        if (!creator->Knows(MakeEpoch(slot, last)) || !HasTimeLeft(last)) continue;
        ended_.Remove(i);
        ++reused_;
        return Occupy(slot, thread, Next(last));
      }
    }
    if (slots_.size() == max_slots_) return Overcommit(thread);
    slots_.Push(SlotState{});
    return Occupy(Slot(static_cast<uint16_t>(slots_.size() - 1)), thread, Time{1});
  }

  // Has a thread at `now` used up the times of its slot? Then it claims another one, and leaves this for good.
  bool IsUsedUp(Time now) const { return Raw(now) >= max_time_; }
  Epoch Exchange(Tid thread, const VectorClock<Mem>& clock) {
    {
      ScopedLock guard(lock_);
      ++worn_;
    }
    return Claim(thread, &clock);
  }

  // Are there few slots left, mostly because others have no time left?
  bool IsWorn() {
    ScopedLock guard(lock_);
    return slots_.size() >= max_slots_ - max_slots_ / 8 && worn_ >= max_slots_ / 2;
  }

  // No label is in use any more: every slot can be claimed, and begins with its first time.
  void Reset() {
    ScopedLock guard(lock_);
    for (SlotState& state : slots_) ForgetAfter(&state.tenancies);
    for (uint64_t& latest : latest_) __atomic_store_n(&latest, 0, __ATOMIC_RELAXED);
    slots_.Clear();
    ended_.Clear();
    worn_ = 0;
    __atomic_store_n(&has_shared_, false, __ATOMIC_RELEASE);
  }

  // Is a label of this slot no proof of who made the access?
  bool IsShared(Slot slot) {
    if (!__atomic_load_n(&has_shared_, __ATOMIC_ACQUIRE)) return false;
    ScopedLock guard(lock_);
    return slots_[Raw(slot)].shared;
  }

  // Fewer times than there could be.
  void LimitTimes(uint64_t max_time) { max_time_ = max_time; }

  // The thread that owns `last`'s slot ends at that time.
  void Retire(Epoch last) {
    ScopedLock guard(lock_);
    if (!HasTimeLeft(TimeOf(last))) ++worn_;
    SlotState& state = slots_[Raw(SlotOf(last))];
    state.last = TimeOf(last);
    state.has_ended = true;
    ended_.Push(SlotOf(last));
  }

  // Calls act() and returns what it says, if no thread has the slot, and none gets it meanwhile; else "no".
  template <class Act>
  bool IfEnded(Slot slot, Act act) {
    ScopedLock guard(lock_);
    return slots_[Raw(slot)].has_ended && !slots_[Raw(slot)].shared && act();
  }

  // Whose access is labelled `epoch`? For reports. kNoThread if many threads had the slot since: 512, or fewer if there are more than 32 slots.
  Tid OwnerOf(Epoch epoch) {
    if (const uint64_t latest = LatestOf(SlotOf(epoch)); latest != 0 && latest >> kTidBits <= Raw(TimeOf(epoch))) {
      return Tid{static_cast<uint32_t>(latest)};
    }
    ScopedLock guard(lock_);
    const Tenancy* tenancy = slots_[Raw(SlotOf(epoch))].tenancies;
    while (tenancy != nullptr && tenancy->first > TimeOf(epoch)) tenancy = tenancy->earlier;
    return tenancy == nullptr ? kNoThread : tenancy->thread;
  }

  size_t size() const { return slots_.size(); }
  uint64_t reused() const { return reused_; }
  // How often two threads had to be taken for one.
  uint64_t overcommitted() const { return __atomic_load_n(&overcommitted_, __ATOMIC_RELAXED); }

 private:
  // How many ended slots are looked at before a new one is made: keeps thread creation cheap.
  static constexpr size_t kSlotsTried = 16;

  // How many owners are remembered, so that a program may create threads for ever: of all slots about so many, of one no more than, no less than.
  static constexpr uint32_t kTenanciesInAll = 1u << 15, kMostTenancies = 1024, kLeastTenancies = 64;

  // Who owned a slot from which time on; newest first.
  struct Tenancy {
    Tenancy* earlier;
    Time first;
    Tid thread;
  };
  struct SlotState {
    Tenancy* tenancies = nullptr;
    uint32_t tenancy_count = 0;
    Time last = kNever;
    bool has_ended = false;  // whose it was, and it is nobody's since
    bool shared = false;     // by live threads
  };

  // The last tenancy of a slot, first time and thread, for whoever asks without the lock; 0: not known so.
  static constexpr uint32_t kTidBits = 32;
  uint64_t LatestOf(Slot slot) const {
    return Raw(slot) < kLatest ? __atomic_load_n(&latest_[Raw(slot)], __ATOMIC_RELAXED) : 0;
  }
  void NoteLatest(Slot slot, Tid thread, Time first) {
    if (Raw(slot) >= kLatest) return;
    const bool fits = Raw(first) >> (64 - kTidBits) == 0;
    __atomic_store_n(&latest_[Raw(slot)], fits ? Raw(first) << kTidBits | Raw(thread) : 0, __ATOMIC_RELAXED);
  }

  // A slot that begins with its last times is of no use.
  bool HasTimeLeft(Time last) const { return Raw(last) < max_time_ - max_time_ / 16; }

  Epoch Overcommit(Tid thread) {
    __atomic_store_n(&overcommitted_, overcommitted_ + 1, __ATOMIC_RELAXED);
    for (size_t i = 0; i < ended_.size(); ++i) {
      const Slot slot = ended_[i];
      const Time last = slots_[Raw(slot)].last;
      if (!HasTimeLeft(last)) continue;
      ended_.Remove(i);
      return Occupy(slot, thread, Next(last));
    }
    __atomic_store_n(&has_shared_, true, __ATOMIC_RELEASE);
    const Slot slot{static_cast<uint16_t>(Raw(thread) % max_slots_)};
    slots_[Raw(slot)].shared = true;
    return MakeEpoch(slot, Time{1});
  }

  Epoch Occupy(Slot slot, Tid thread, Time first) {
    SlotState& state = slots_[Raw(slot)];
    auto* tenancy = arena_.template New<Tenancy>();
    *tenancy = Tenancy{.earlier = state.tenancies, .first = first, .thread = thread};
    state.tenancies = tenancy;
    state.has_ended = false;
    NoteLatest(slot, thread, first);
    const uint32_t share = kTenanciesInAll / static_cast<uint32_t>(slots_.size());
    const uint32_t most = share > kMostTenancies ? kMostTenancies : share < kLeastTenancies ? kLeastTenancies : share;
    if (++state.tenancy_count > most) ForgetOlder(state, most / 2);
    return MakeEpoch(slot, first);
  }

  void ForgetOlder(SlotState& state, uint32_t kept) {
    Tenancy* last = state.tenancies;
    for (uint32_t i = 1; i < kept; ++i) last = last->earlier;
    ForgetAfter(&last->earlier);
    state.tenancy_count = kept;
  }

  void ForgetAfter(Tenancy** link) {
    for (Tenancy* old = *link; old != nullptr;) {
      Tenancy* earlier = old->earlier;
      arena_.Delete(old);
      old = earlier;
    }
    *link = nullptr;
  }

  const uint32_t max_slots_;
  uint64_t max_time_;
  typename Mem::Lock lock_;
  Arena<Mem>& arena_;  // owns the tenancies
  Vector<SlotState, Mem> slots_;
  Vector<Slot, Mem> ended_;
  static constexpr uint32_t kLatest = 1024;
  uint64_t latest_[kLatest] = {};
  uint64_t reused_ = 0;
  uint64_t overcommitted_ = 0;
  bool has_shared_ = false;
  uint32_t worn_ = 0;  // slots that nobody can use any more
};

}  // namespace redflag
