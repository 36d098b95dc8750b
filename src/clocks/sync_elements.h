// The elements of a thread, the elements of a synchronization object, and the steps between them: what Figure 5 of
// Goldilocks is made of, for C++. It is clocks/sync_clocks.h seen from the other side: there every thread and every object
// has the set of accesses it knows of; here every access has the set of threads and objects that know of it. Which steps an
// atomic operation or a fence consists of is detectors/atomics.h; this file says which events each step leaves.
//
// Notation (clocks/sync_event_list.h has the kinds)
//   C_t F_t P_t   self, fence, pending    of a thread
//   M_s X_s R_s   carried, exclusive, shared    of a synchronization object
//   a -> b        the event "if a is in LS(x), add b";   out b: the event "take b out of LS(x)"
//
// A step that cannot change any lockset leaves no event: a shorter list is a shorter walk.
//
// Ledger: where events go. OwnershipLedger (clocks/ownership.h) keeps locksets, and decides by them; OwnershipLog (clocks/ownership_log.h) can say
// afterwards what they were.
//
// A ThreadElements belongs to its thread. A SyncElements is only touched under the lock that the engine holds for it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/arena.h"
#include "base/ids.h"
#include "base/vector.h"
#include "clocks/commit_clocks.h"
#include "clocks/last_commits.h"
#include "clocks/lockset.h"
#include "clocks/ownership.h"
#include "clocks/sync_event_list.h"
#include "events/event.h"

namespace redflag {

// Its number is never used again: a lock that is created where another one was destroyed is a different element.
template <class Ledger>
class SyncElements {
 public:
  explicit SyncElements(Ledger& ledger) : ledger_(ledger), number_(ledger.NewNumber()) {}
  // Nobody can take anything from it any more.
  ~SyncElements() {
    if constexpr (Ledger::kKeepsSets) {
      uint64_t steps[kOwnershipStepCount] = {};
      constexpr ElementKind kKinds[] = {ElementKind::kCarried, ElementKind::kExclusive, ElementKind::kShared};
      for (const ElementKind kind : kKinds) {
        if (!Of(kind).empty) ledger_.Append(kNoElement, element(kind), steps);
      }
    }
  }
  SyncElements(const SyncElements&) = delete;
  SyncElements& operator=(const SyncElements&) = delete;

  // What is known of an element without looking at any lockset.
  struct Carrier {
    bool empty = true;           // in no lockset
    Tid known_to = kNoThread;    // C_t is in every lockset that it is in, for this t
    Tid pending_of = kNoThread;  // P_t is
  };
  Carrier& Of(ElementKind kind) { return carriers_[Raw(kind) - Raw(ElementKind::kCarried)]; }
  Element element(ElementKind kind) const { return MakeElement(kind, number_); }
  typename Ledger::Turn& turn() { return turn_; }

  // A lock, and how it is held.
  uint64_t NameIn(LockMode mode) const { return (number_ << 1) | (mode == LockMode::kShared ? 1u : 0u); }

 private:
  Ledger& ledger_;
  uint64_t number_;
  [[no_unique_address]] typename Ledger::Turn turn_;
  Carrier carriers_[3];
};

template <class Mem, class Ledger>
class ThreadElements {
 public:
  using Sync = SyncElements<Ledger>;
  using Turn = typename Ledger::Turn;

  // `steps`: where the ledger counts what it does for this thread.
  ThreadElements(Arena<Mem>& arena, Ledger& ledger, Tid thread, uint64_t* steps)
      : ledger_(ledger), steps_(steps), holds_(arena) {
    mine_.thread = thread;
  }
  // A thread that is gone can do nothing with what it owns.
  ~ThreadElements() {
    if constexpr (Ledger::kKeepsSets) {
      ledger_.EndSegment(mine_);
      TakeOut(self());
      if (has_fence_) TakeOut(fence());
      if (had_pending_) TakeOut(pending());
    } else {
      ledger_.End(mine_);
    }
  }
  ThreadElements(const ThreadElements&) = delete;
  ThreadElements& operator=(const ThreadElements&) = delete;

  Tid thread() const { return mine_.thread; }
  Element self() const { return ThreadElement(thread()); }

  // [GL Fig.5 rule 6]: C_t -> C_u
  void Fork(ThreadElements& child) {
    HandOn(mine_.turn, child.self());
    ledger_.Follow(child.mine_, mine_);
  }
  // [GL Fig.5 rule 7]: C_u -> C_t
  void Join(const ThreadElements& child) {
    ledger_.Follow(mine_, child.mine_);
    Append(mine_.turn, child.self(), self());
  }
  void End() {
    if constexpr (Ledger::kKeepsSets) {
      ledger_.EndSegment(mine_);
    } else {
      ledger_.Close(mine_);
      ledger_.End(mine_);
    }
  }

  // A log has to know at which epoch its thread is, and that it goes on at one that does not follow from that.
  void GoOn(Epoch epoch) { mine_.now = epoch; }
  void LeaveEpoch() { ledger_.Close(mine_); }

  // Locks, with the arcs of the ThreadSanitizer paper, 4.4.1: what read unlocks leave is taken by exclusive locks only.

  // [GL Fig.5 rule 4]: X_s -> C_t, R_s -> C_t
  void Lock(Sync& s, LockMode mode) {
    Take(s, ElementKind::kExclusive);
    if (mode == LockMode::kExclusive) Take(s, ElementKind::kShared);
    if constexpr (Ledger::kKeepsSets) holds_.Push(s.NameIn(mode));
    ledger_.EndOwnership(mine_);
  }
  // [GL Fig.5 rule 5]: C_t -> X_s or C_t -> R_s
  void Unlock(Sync& s, LockMode mode) {
    for (size_t i = holds_.size(); i-- > 0;) {
      if (holds_[i] != s.NameIn(mode)) continue;
      holds_.Remove(i);
      break;
    }
    Release(s, mode == LockMode::kExclusive ? ElementKind::kExclusive : ElementKind::kShared);
  }

  // Atomics and signals.

  // [GL Fig.5 rule 2]: M_s -> C_t
  void Acquire(Sync& s) { Take(s, ElementKind::kCarried); }
  // [GL Fig.5 rule 3]: out M_s, C_t -> M_s: the old value and what it carried are gone
  void ReleaseStore(Sync& s) {
    EndValue(s);
    Release(s, ElementKind::kCarried);
  }
  // [GL Fig.5 rule 3]: C_t -> M_s
  void ReleaseMerge(Sync& s) { Release(s, ElementKind::kCarried); }
  // [GL atomics]: M_s -> P_t. Where C_t is already, P_t could add nothing.
  void RelaxedLoad(Sync& s) {
    typename Sync::Carrier& carrier = s.Of(ElementKind::kCarried);
    if (carrier.empty || carrier.known_to == thread() || carrier.pending_of == thread()) return;
    carrier.pending_of = thread();
    has_pending_ = had_pending_ = true;
    Append(s.turn(), s.element(ElementKind::kCarried), pending());
  }
  // [GL atomics]: out M_s, F_t -> M_s
  void RelaxedStore(Sync& s) {
    EndValue(s);
    RelaxedMerge(s);
  }
  // [GL atomics]: F_t -> M_s
  void RelaxedMerge(Sync& s) {
    if (!has_fence_) return;
    NoteGift(s, ElementKind::kCarried);
    Append(s.turn(), fence(), s.element(ElementKind::kCarried));
  }
  // [GL atomics]: P_t -> C_t
  void AcquireFence() {
    if (!has_pending_) return;
    has_pending_ = false;
    Append(mine_.turn, pending(), self());
  }
  // [GL atomics]: C_t -> F_t
  void ReleaseFence() {
    has_fence_ = true;
    HandOn(mine_.turn, fence());
  }

  // Transactions: [GL Fig.5 rule 9]. K_c stands for the bytes whose latest commit is c.

  // K_c -> C_t; C_t -> K_c; K_b -> K_c: of somebody who knows commits and their turns (clocks/commit_clocks.h)
  void TakeCommit(uint64_t commit, Turn& turn) { Append(turn, MakeElement(ElementKind::kCommit, commit), self()); }
  void GiveCommit(uint64_t commit, Turn& turn) { Append(turn, self(), MakeElement(ElementKind::kCommit, commit)); }
  void JoinCommits(uint64_t earlier, Turn& earlier_turn, uint64_t commit, Turn& turn) {
    ledger_.Follow(mine_, earlier_turn);
    Append(turn, MakeElement(ElementKind::kCommit, earlier), MakeElement(ElementKind::kCommit, commit));
  }

  // K_c -> C_t
  void CommitBegin(LastCommits<Mem>& commits, const Footprint* footprint, size_t count) {
    commits.ForEach(footprint, count, [&](uint64_t commit, Tid author) {
      if (author != thread()) Append(mine_.turn, MakeElement(ElementKind::kCommit, commit), self());
    });
  }
  // C_t -> K_c; and K_b -> K_c where c stands for b, too
  void CommitEnd(LastCommits<Mem>& commits, const Footprint* footprint, size_t count) {
    commits.Add(
        thread(), footprint, count, [&](uint64_t commit) { GiveCommit(commit, mine_.turn); },
        [&](uint64_t earlier, uint64_t commit) { JoinCommits(earlier, mine_.turn, commit, mine_.turn); },
        [&](uint64_t commit) { TakeOutCommit(commit); });
    ledger_.EndSegment(mine_);
  }
  void TakeOutCommit(uint64_t commit) { TakeOut(MakeElement(ElementKind::kCommit, commit)); }

  // Accesses.

  // The ownership of what the thread accesses now: [GL Fig.8 Handle-Action l.5-9]. `held` names the locks it holds.
  auto* Current(HeldLocks<Mem>& held) {
    if (mine_.current != nullptr) return mine_.current;
    return ledger_.Begin(mine_, held.id(), holds_.empty() ? 0 : holds_.back());
  }

  // [GL 5.1 second]: the owner held this lock then and the thread holds it now, not both for reading: it was handed over.
  template <class Ownership>
  bool TookOver(const Ownership& earlier) const {
    for (const uint64_t held : holds_) {
      if (held >> 1 == earlier.alock >> 1 && (held & earlier.alock & 1) == 0) return true;
    }
    return false;
  }

  template <class Ownership>
  bool IsOwner(Ownership& earlier) {
    return ledger_.IsOwner(earlier, thread(), steps_);
  }

  auto Stamp() { return ledger_.Stamp(mine_); }

 private:
  Element fence() const { return MakeElement(ElementKind::kFence, Raw(thread())); }
  Element pending() const { return MakeElement(ElementKind::kPending, Raw(thread())); }

  void Append(Turn& turn, Element from, Element to) { ledger_.Append(mine_, turn, from, to, steps_); }
  void TakeOut(Element element) { Append(mine_.turn, kNoElement, element); }
  void HandOn(Turn& turn, Element to) {
    Append(turn, self(), to);
    ledger_.EndSegment(mine_);
  }

  void Take(Sync& s, ElementKind kind) {
    typename Sync::Carrier& carrier = s.Of(kind);
    if (carrier.empty || carrier.known_to == thread()) return;
    carrier.known_to = thread();
    Append(s.turn(), s.element(kind), self());
  }
  void Release(Sync& s, ElementKind kind) {
    NoteGift(s, kind);
    HandOn(s.turn(), s.element(kind));
  }
  // The thread gives some of what it knows: it still knows all that is there, if it did.
  void NoteGift(Sync& s, ElementKind kind) {
    typename Sync::Carrier& carrier = s.Of(kind);
    const bool knows_all = carrier.empty || carrier.known_to == thread();
    carrier = {.empty = false, .known_to = knows_all ? thread() : kNoThread};
  }
  void EndValue(Sync& s) {
    typename Sync::Carrier& carrier = s.Of(ElementKind::kCarried);
    if (!carrier.empty) Append(s.turn(), kNoElement, s.element(ElementKind::kCarried));
    carrier = {};
  }

  Ledger& ledger_;
  uint64_t* steps_;
  typename Ledger::ThreadOwnership mine_;
  Vector<uint64_t, Mem> holds_;  // the locks it holds, as Sync::NameIn, the newest last; of a ledger that asks
  bool has_fence_ = false;       // F_t may be in locksets
  bool has_pending_ = false;     // P_t may be where C_t is not
  bool had_pending_ = false;     // P_t may be in locksets
};

}  // namespace redflag
