// Phases of barriers. Everybody who arrives in a phase is ordered before everybody who leaves it.
//
// A phase is an object of its own, from the first arrival to the last leave: the barrier may be destroyed, its memory reused, or another
// phase of it begun, before a thread that is slow has left. Who arrives gets the phase and leaves it by that; the barrier's address
// matters to those who arrive only. Thread-safe.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "base/hash_map.h"
#include "runtime/thread.h"

namespace redflag::rt {

class Barriers {
 public:
  struct Phase {
    explicit Phase(Detector& detector, uint64_t at) : barrier(at), sync(detector) {}
    uint64_t barrier;
    Detector::Sync sync;
    uint32_t parties = 0;
    SyncId name{};  // of the barrier, in records
    uint32_t arrived = 0;
    uint32_t left = 0;
    bool open = true;       // more may arrive
    uint32_t era = 0;       // that `sync` is of
    Phase* next = nullptr;  // of the open ones
  };

  // `release` is called with the phase, under the lock.
  template <class Visit>
  Phase* Arrive(Detector& detector, Arena<AtomicMem>& arena, uint64_t barrier, uint32_t parties, Visit release) {
    ScopedLock guard(lock_);
    Phase*& first = Bucket(barrier);
    Phase* phase = first;
    while (phase != nullptr && phase->barrier != barrier) phase = phase->next;
    if (phase == nullptr) {
      phase = ::new (arena.Allocate(sizeof(Phase))) Phase(detector, barrier);
      phase->next = first;
      first = phase;
    }
    Renew(detector, *phase);
    phase->parties = parties;
    release(*phase);
    if (++phase->arrived >= parties) Close(phase);
    return phase;
  }

  template <class Visit>
  void Leave(Detector& detector, Arena<AtomicMem>& arena, Phase* phase, Visit acquire) {
    ScopedLock guard(lock_);
    Renew(detector, *phase);
    acquire(*phase);
    ++phase->left;
    DropIfDone(arena, phase);
  }

  // The barrier is made or destroyed: who arrives next begins a phase.
  void Forget(Arena<AtomicMem>& arena, uint64_t barrier) {
    ScopedLock guard(lock_);
    for (Phase* phase = Bucket(barrier); phase != nullptr; phase = phase->next) {
      if (phase->barrier != barrier) continue;
      Close(phase);
      DropIfDone(arena, phase);
      return;
    }
  }

  AtomicMem::Lock& lock() { return lock_; }

  // None carries anything any more.
  void ClearAll() {
    ScopedLock guard(lock_);
    ++era_;
  }

 private:
  static constexpr uint64_t kBuckets = 64;

  Phase*& Bucket(uint64_t barrier) { return buckets_[HashKey(barrier) % kBuckets]; }

  void Renew(Detector& detector, Phase& phase) const {
    if (phase.era == era_) return;
    Clear(detector, phase.sync);
    phase.era = era_;
  }

  void Close(Phase* phase) {
    for (Phase** link = &Bucket(phase->barrier); *link != nullptr; link = &(*link)->next) {
      if (*link != phase) continue;
      *link = phase->next;
      break;
    }
    phase->open = false;
  }

  static void DropIfDone(Arena<AtomicMem>& arena, Phase* phase) {
    if (phase->open || phase->left != phase->arrived) return;
    phase->~Phase();
    arena.Free(phase, sizeof(Phase));
  }

  AtomicMem::Lock lock_;
  Phase* buckets_[kBuckets] = {};
  uint32_t era_ = 0;
};

}  // namespace redflag::rt
