// The clock of a thread, the clocks of a synchronization object, and the steps between them: what "happens before" is
// made of, for every detector that keeps vector clocks. Which steps an atomic operation or a fence consists of is
// detectors/atomics.h; this file says what each step does to clocks.
//
// Notation
//   C_t      clock      what thread t knows: every epoch ordered before t's next action
//   C_t(t)   now        t's own time; advances (Tick) after each step that hands C_t to somebody, so that what t does
//                       next is not mistaken for what it did before
//   F_t      released   C_t at t's latest release fence: what t's relaxed stores carry     [atomics.fences]/2,3
//   P_t      pending    what t's relaxed loads have seen; t's next acquire fence takes it  [atomics.fences]/2,4
//   M_s      carried    what the value now in atomic s carries: the heads of all release sequences that it belongs to;
//                       for signals: everything signalled so far
//   X_s      released_exclusive    what the latest unlock of s left behind
//   R_s      released_shared       what read unlocks of s have left behind since
//
// An object also says who knows all that it carries, and who unlocked it last: that thread has nothing to learn from it. Most locks are taken by the
// thread that had them before.
//
// Points. What a thread hands on at one of its times is one thing, because its time advances with that. So whoever knows the time knows all of it,
// and an object that carries nothing else says which time that is: one look tells whether there is anything to join. There is no such point if
// an object carries what several have handed on; nor where two threads had to be taken for one (clocks/thread_slots.h), or somebody was told of a time that
// was not over (JoinThread, of a thread that goes on).
//
// A ThreadClock belongs to its thread. A SyncClock is only touched under the lock that the engine holds for it.
#pragma once

#include "base/arena.h"
#include "base/ids.h"
#include "clocks/epoch.h"
#include "clocks/thread_slots.h"
#include "clocks/vector_clock.h"
#include "events/event.h"

namespace redflag {

template <class Mem>
struct SyncClock {
 private:
  uint64_t carried_at_ = Raw(kNoEpoch);  // first, so that it is where whoever finds the object looks

 public:
  static constexpr Epoch kNoPoint = MakeEpoch(Slot{UINT16_MAX}, Time{kMaxTime});

  explicit SyncClock(Arena<Mem>& arena) : carried(arena), released_exclusive(arena), released_shared(arena) {}

  // M_s's point. Also read without the lock, by whoever finds out afterwards whether the object changed meanwhile.
  Epoch carried_at() const { return Epoch{__atomic_load_n(&carried_at_, __ATOMIC_ACQUIRE)}; }
  void CarriesFrom(Epoch point) { __atomic_store_n(&carried_at_, Raw(point), __ATOMIC_RELAXED); }

  Epoch unlocked_exclusive_at = kNoEpoch;  // X_s's point
  Tid carried_known_by = kNoThread;        // M_s is part of its C_t
  Tid unlocked_exclusive_by = kNoThread;   // X_s is part of its C_t
  VectorClock<Mem> carried;
  VectorClock<Mem> released_exclusive;
  VectorClock<Mem> released_shared;

  // Carries nothing any more: the object was destroyed.
  void Clear() {
    carried.Clear();
    released_exclusive.Clear();
    released_shared.Clear();
    carried_known_by = unlocked_exclusive_by = kNoThread;
    CarriesFrom(kNoEpoch);
    unlocked_exclusive_at = kNoEpoch;
  }
};

template <class Mem>
class ThreadClock {
 public:
  using Sync = SyncClock<Mem>;

  // `owner`: no other thread ever had or will have this number. `slots`: where its slot is from; null: no two threads have the same.
  ThreadClock(Arena<Mem>& arena, Tid owner, const ThreadSlots<Mem>* slots = nullptr)
      : owner_(owner), slots_(slots), clock_(arena), released_(arena), pending_(arena) {}

  const VectorClock<Mem>& clock() const { return clock_; }
  Epoch epoch() const { return MakeEpoch(slot_, now_); }
  // A thread knows its own past, and that of whoever had its slot before, without looking it up.
  bool Knows(Slot slot, Time time) const { return slot == slot_ || time <= clock_.Get(slot); }
  bool Knows(Epoch epoch) const { return Knows(SlotOf(epoch), TimeOf(epoch)); }

  // Begins at `first`, knowing what its creator knows. Fences of the creator are not the child's: "sequenced
  // before" does not reach across threads.
  void Start(Epoch first, const VectorClock<Mem>* creator) {
    slot_ = SlotOf(first);
    now_ = TimeOf(first);
    if (creator != nullptr) clock_.Assign(*creator);
    clock_.Set(slot_, now_);
  }

  void Tick() {
    now_ = Next(now_);
    is_told_ = false;
    clock_.Set(slot_, now_);
  }

  // Goes on at another of its own times, whether later or earlier: what has a time is this detector's business.
  void GoTo(Time time) {
    now_ = time;
    clock_.Set(slot_, time);
  }

  // Goes on in another slot, from `first` or from what is known of it already: the times of the old one are used up.
  void MoveTo(Epoch first) {
    slot_ = SlotOf(first);
    now_ = TimeOf(first);
    if (clock_.Get(slot_) > now_) now_ = clock_.Get(slot_);
    clock_.Set(slot_, now_);
  }

  // Begins anew, knowing nothing.
  void Restart(Epoch first) {
    clock_.Clear();
    End();
    Start(first, nullptr);
  }

  void Join(const VectorClock<Mem>& other) { clock_.Join(other); }

  // All that another thread has done so far. It has ended, or stands still.
  void JoinThread(ThreadClock& other) {
    clock_.Join(other.clock_);
    other.is_told_ = true;
  }

  // Gives back what an ended thread no longer needs; the clock stays, for those who join it.
  void End() {
    released_.Clear();
    released_at_ = kNoEpoch;
    pending_.Clear();
  }

  // Is all that was handed on at this point (SyncClock) part of C_t?
  bool KnowsAll(Epoch point) const {
    return point != Sync::kNoPoint && Knows(point) && (slots_ == nullptr || slots_->overcommitted() == 0);
  }

  // Atomics and signals.
  void Acquire(Sync& sync) {
    if (KnowsCarried(sync)) return;
    clock_.Join(sync.carried);
    sync.carried_known_by = owner_;
  }
  void ReleaseStore(Sync& sync) {
    sync.carried.Assign(clock_);
    sync.carried_known_by = owner_;
    sync.CarriesFrom(PointNow());
    Tick();
  }
  void ReleaseMerge(Sync& sync) {
    if (KnowsCarried(sync) || sync.carried.IsEmpty()) return ReleaseStore(sync);
    sync.carried.Join(clock_);
    sync.carried_known_by = kNoThread;
    sync.CarriesFrom(Sync::kNoPoint);
    Tick();
  }
  void RelaxedLoad(const Sync& sync) {
    if (!KnowsCarried(sync)) pending_.Join(sync.carried);
  }
  void RelaxedStore(Sync& sync) {
    sync.carried.Assign(released_);
    sync.carried_known_by = owner_;
    sync.CarriesFrom(released_at_);
  }
  void RelaxedMerge(Sync& sync) {
    if (released_at_ == kNoEpoch) return;
    sync.carried.Join(released_);
    if (sync.carried_known_by != owner_) sync.carried_known_by = kNoThread;
    sync.CarriesFrom(sync.carried_at() == kNoEpoch ? released_at_ : Sync::kNoPoint);
  }
  void AcquireFence() { clock_.Join(pending_); }
  void ReleaseFence() {
    released_.Assign(clock_);
    released_at_ = PointNow();
    Tick();
  }

  // Locks: the extended arcs of the ThreadSanitizer paper, 4.4.1. Shared unlocks order nothing among readers.
  void Lock(const Sync& sync, LockMode mode) {
    if (sync.unlocked_exclusive_by != owner_ && !KnowsAll(sync.unlocked_exclusive_at)) {
      clock_.Join(sync.released_exclusive);
    }
    if (mode == LockMode::kExclusive) clock_.Join(sync.released_shared);
  }
  void Unlock(Sync& sync, LockMode mode) {
    if (mode == LockMode::kExclusive) {
      // The holder knew both when it locked, and nobody unlocked since: its clock contains them.
      sync.released_exclusive.Assign(clock_);
      sync.unlocked_exclusive_by = owner_;
      sync.unlocked_exclusive_at = PointNow();
      sync.released_shared.Clear();
    } else {
      sync.released_shared.Join(clock_);
    }
    Tick();
  }

  bool KnowsCarried(const Sync& sync) const { return sync.carried_known_by == owner_ || KnowsAll(sync.carried_at()); }

 private:
  // What is handed on now is all that is handed on at this time.
  Epoch PointNow() const { return is_told_ ? Sync::kNoPoint : epoch(); }

  const Tid owner_;
  const ThreadSlots<Mem>* const slots_;
  Slot slot_{};
  bool is_told_ = false;  // somebody knows of this time, which is not over
  Time now_ = kNever;
  VectorClock<Mem> clock_;
  VectorClock<Mem> released_;
  Epoch released_at_ = kNoEpoch;  // F_t's point; kNoEpoch: there was no such fence
  VectorClock<Mem> pending_;
};

}  // namespace redflag
