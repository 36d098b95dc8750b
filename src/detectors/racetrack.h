// racetrack: lockset and threadset together, each where it is needed. A variable that several threads use at the same time
// must keep to one lock; "at the same time" is decided by vector clocks that locks do not touch. The state machine begins
// cheap and coarse (whole objects, then only locksets) and becomes exact where it grows suspicious.
// Yu, Rodeheffer, Chen, SOSP 2005 (RT); the state machine is drawn in docs/algorithms/racetrack.md.
//
// Notation
//   L_t   Thread::counted   by kind of access; transactions hold TL too; touched by t only
//   B_t   Thread::clock     t's vector clock; no lock touches it unless annotated; touched by t only
//   <t,B_t(t)>  the label of t's next access: Thread::clock.epoch()
//   x     an object (Cell::state), or after its refinement the bytes of one field (TrackField::state); under the cell's lock
//   C_x   TrackState::locks()                      S_x   TrackState::label() (one) or threadset() (more)
//
// Each arrow of the state machine carries its tag and a counter.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "clocks/bounded_clock.h"
#include "clocks/commit_clocks.h"
#include "clocks/event_locksets.h"
#include "clocks/lockset.h"
#include "clocks/sync_clocks.h"
#include "clocks/thread_slots.h"
#include "detectors/counted_locks.h"
#include "detectors/detector.h"
#include "detectors/last_accesses.h"
#include "detectors/racetrack_fields.h"
#include "detectors/racetrack_machine.h"
#include "detectors/racetrack_rules.h"
#include "detectors/racetrack_state.h"
#include "detectors/racetrack_threadset.h"

namespace redflag {

template <class Mem>
class RaceTrack {
 public:
  static constexpr const char* kName = "racetrack";
  static constexpr const char* kSummary = "RaceTrack: locksets and threadsets, adaptive; predicts beyond this schedule";
  static constexpr const char* kWhyMore =
      "takes no order from locks, and tells reads from writes only until it has seen a variable change hands [RT "
      "2.4.1]";
  static constexpr const char* kWhyLess =
      "waits for a race to come again, first on the object and then on the field [RT 2.4.3]";
  static constexpr Map kMap = Map::kObject;
  // What another thread does to one field moves the state of the whole object: no access is redundant by itself.
  static constexpr Filter kFilter = Filter::kNone;
  static constexpr AfterRace kAfterRace = AfterRace::kContinue;
  static constexpr bool kReports = true;
  static constexpr Claim kClaim = Claim::kUnorderedButByLocks;
  static constexpr const auto& kRules = RaceTrackRules::kInfo;
  using enum RaceTrackRules::Rule;
  using Phase = TrackState::Phase;
  using Witness = TrackWitness;
  using Fields = TrackFields<Mem>;

  struct Thread : ThreadBase<Mem> {
    Thread(RaceTrack& d, Tid id)
        : ThreadBase<Mem>(d.arena_, d.locksets_, id),
          counted(d.arena_, d.locksets_, d.modes_),
          clock(d.arena_, id, &d.slots_),
          learnt(d.arena_),
          recent(d.arena_, d.options_.clock_bound != 0 ? d.options_.clock_bound : BoundedClock<Mem>::kPaperBound) {}
    CountedLocks<Mem> counted;
    LocksetId packed_id = kEmptyLockset;  // the last set that was packed
    PackedLockset packed = kNoLocks;
    ThreadClock<Mem> clock;
    VectorClock<Mem> learnt;   // with a bound: `clock` as it was when `recent` was last brought up to date
    BoundedClock<Mem> recent;  // with a bound: what of `clock` is remembered
    uint64_t counts[kRuleCount] = {};
  };
  struct Sync : SyncClock<Mem> {
    explicit Sync(RaceTrack& d) : SyncClock<Mem>(d.arena_) {}
    bool pure_hb = false;
  };

  struct Cell {
    TrackState state;  // of the object
    LastAccesses<Witness> last;
    [[no_unique_address]] typename Mem::Lock lock;
  };
  // An object begins Virgin, whoever made it.
  struct Stamp {};

  explicit RaceTrack(const RaceTrackOptions& options = {})
      : options_(options),
        locksets_(arena_),
        modes_(arena_, locksets_),
        slots_(arena_),
        commits_(arena_),
        sets_(arena_),
        machine_(options_, locksets_, sets_) {}

  // ---- Threads: [RT Fig.2 Fork], [RT Fig.2 Join] ----

  Tag OnStart(Thread& t) {
    t.clock.Start(slots_.Claim(t.tid, nullptr), nullptr);
    return Learn(t);
  }
  Tag OnFork(Thread& parent, Thread& child) {
    ++parent.counts[kFork];
    child.clock.Start(slots_.Claim(child.tid, &parent.clock.clock()), &parent.clock.clock());
    parent.clock.Tick();
    return Learn(child);
  }
  Tag OnJoin(Thread& t, Thread& child) {
    ++t.counts[kJoin];
    t.clock.JoinThread(child.clock);
    return Learn(t);
  }
  Tag OnEnd(Thread& t) {
    t.clock.End();
    slots_.Retire(t.clock.epoch());
    return Tag::kChanged;
  }

  // ---- Locks: [RT 2.2] they are in L_t and order nothing, unless somebody says so ----

  Tag OnLock(Thread& t, Sync& s, LockMode mode) {
    ++t.counts[s.pure_hb ? kPureHbLock : kLock];
    if (s.pure_hb) t.clock.Lock(s, mode);
    return Learn(t);
  }
  Tag OnUnlock(Thread& t, Sync& s, LockMode mode) {
    ++t.counts[s.pure_hb ? kPureHbUnlock : kUnlock];
    if (s.pure_hb) t.clock.Unlock(s, mode);
    return Tag::kChanged;
  }
  Tag OnPureHbLock(Thread&, Sync& s) {
    s.pure_hb = true;
    return Tag::kKept;
  }

  // ---- Signals [RT 2.2: as Fork and Join]; atomics and fences, which RT does not have ----

  Tag OnAcquire(Thread& t, Sync& s) {
    ++t.counts[kAcquire];
    t.clock.Acquire(s);
    return Learn(t);
  }
  Tag OnReleaseStore(Thread& t, Sync& s) {
    ++t.counts[kReleaseStore];
    t.clock.ReleaseStore(s);
    return Tag::kChanged;
  }
  Tag OnReleaseMerge(Thread& t, Sync& s) {
    ++t.counts[kReleaseMerge];
    t.clock.ReleaseMerge(s);
    return Tag::kChanged;
  }
  Tag OnRelaxedLoad(Thread& t, Sync& s) {
    ++t.counts[kRelaxed];
    t.clock.RelaxedLoad(s);
    return Tag::kKept;
  }
  Tag OnRelaxedStore(Thread& t, Sync& s) {
    ++t.counts[kRelaxed];
    t.clock.RelaxedStore(s);
    return Tag::kKept;
  }
  Tag OnRelaxedMerge(Thread& t, Sync& s) {
    ++t.counts[kRelaxed];
    t.clock.RelaxedMerge(s);
    return Tag::kKept;
  }
  Tag OnAcquireFence(Thread& t) {
    ++t.counts[kFence];
    t.clock.AcquireFence();
    return Learn(t);
  }
  Tag OnReleaseFence(Thread& t) {
    ++t.counts[kFence];
    t.clock.ReleaseFence();
    return Tag::kChanged;
  }

  // ---- Transactions: ordered with each other, and each holds TL ----

  Tag OnCommitBegin(Thread& t, const Footprint* footprint, size_t count) {
    ++t.counts[kCommit];
    commits_.Acquire(t.clock, footprint, count);
    return Learn(t);
  }
  Tag OnCommitEnd(Thread& t, const Footprint* footprint, size_t count) {
    commits_.Release(t.clock, footprint, count);
    return Tag::kChanged;
  }

  // ---- Accesses ----

  ByteMask OnAccess(Thread& t, Cell& cell, const Access& access, RaceRecord& record) {
    if (IsAtomic(access.kind)) {  // [RT 3.4]
      ++t.counts[kAtomic];
      return kNoBytes;
    }
    Witness mine;
    static_cast<SeenAccess&>(mine) = SeenAccess{.thread = t.tid,
                                                .context = access.context,
                                                .locks = t.held.id(),
                                                .kind = access.kind,
                                                .origin = access.origin,
                                                .seen = true};
    mine.label = t.clock.epoch();
    const PackedLockset locks = LocksOf(t, mine);
    ScopedLock guard(cell.lock);
    if (cell.state.phase() == Phase::kVirgin && !options_.object_first) Refine(cell);
    if (cell.state.phase() == Phase::kRefined) return OnField(t, cell, access, mine, locks, record);

    ++t.counts[kObjectLevel];
    if (!Step(t, cell.state, mine, locks)) {
      cell.last.Note(mine);
      return kNoBytes;
    }
    // [RT 2.4.2]: a warning of low accuracy; from here on each field for itself.
    ++t.counts[kObjectWarning];
    const LastAccesses<Witness> last = cell.last;
    Refine(cell);
    if (!options_.report_object_level) return kNoBytes;
    record.Begin(access, mine.Record(access.bytes));
    NameOthers(t, last, access.bytes, record);
    return access.bytes;
  }

  // ---- Lifetimes ----

  Stamp OnLifetime(Thread& t, Addr addr, uint64_t size, AccessOrigin, ContextId) {
    ++t.counts[kLifetime];
    commits_.Forget(addr, size);
    return Stamp{};
  }
  void Revive(Cell& cell, ByteMask, const Stamp&) {
    ScopedLock guard(cell.lock);
    Forget(cell);
  }
  void Forget(Cell& cell) {
    if (cell.state.phase() == Phase::kRefined) {
      Fields* fields = FieldsOf(cell);
      fields->ForEach([this](typename Fields::Groups& groups) { groups.Forget(arena_, kAllBytes, Hooks{sets_}); });
      fields->~Fields();
      arena_.Free(fields, sizeof(Fields));
    } else if (cell.state.phase() == Phase::kSharedModify2) {
      sets_.Drop(ThreadsetOf(cell.state));
    }
    cell.state = TrackState{};
    cell.last = LastAccesses<Witness>{};
  }

  // ---- Reports and tests ----

  LocksetTable<Mem>& locksets() { return locksets_; }
  const Arena<Mem>& arena() const { return arena_; }
  const ThreadsetTable<Mem>& threadsets() const { return sets_; }
  const RaceTrackOptions& options() const { return options_; }
  // The state that decides about this byte now: its object's, or its field's.
  TrackState StateOf(Cell& cell, Addr byte) {
    if (cell.state.phase() != Phase::kRefined) return cell.state;
    TrackState state;
    const auto* groups = FieldsOf(cell)->Find(GranuleOf(byte));
    if (groups == nullptr) return state;
    groups->ForEachGroup([&](ByteMask bytes, const TrackField& field) {
      if (Any(bytes & MaskOf(byte, 1))) state = field.state;
    });
    return state;
  }

 private:
  using Hooks = typename Fields::Hooks;
  static Fields* FieldsOf(const Cell& cell) { return static_cast<Fields*>(cell.state.fields()); }

  // [RT 3.5 bound]: what t has learnt since the last call, in the clock that forgets.
  Tag Learn(Thread& t) {
    if (options_.clock_bound == 0) return Tag::kChanged;
    t.clock.clock().ForEach([&](Slot slot, Time time) {
      if (time > t.learnt.Get(slot)) t.recent.Raise(slot, time);
    });
    t.learnt.Assign(t.clock.clock());
    return Tag::kChanged;
  }
  bool Knows(const Thread& t, Epoch label) const {
    if (options_.clock_bound == 0) return t.clock.Knows(label);
    return SlotOf(label) == SlotOf(t.clock.epoch()) || t.recent.Knows(label);
  }

  PackedLockset LocksOf(Thread& t, const Witness& mine) {
    const LocksetId id = t.counted.For(mine.locks, mine.kind, mine.origin);
    if (id != t.packed_id) {
      t.packed_id = id;
      t.packed = Pack(locksets_, id);
    }
    return t.packed;
  }

  void Refine(Cell& cell) {
    cell.state = TrackState::Refined(::new (arena_.Allocate(sizeof(Fields))) Fields(arena_));
    cell.last = LastAccesses<Witness>{};
  }

  ByteMask OnField(Thread& t, Cell& cell, const Access& access, const Witness& mine, PackedLockset locks,
                   RaceRecord& record) {
    if (!IsSampled(options_.array_sample, access)) {  // [RT 3.5 array]
      ++t.counts[kUnsampled];
      return kNoBytes;
    }
    ++t.counts[kFieldLevel];
    ByteMask raced = kNoBytes;
    FieldsOf(cell)
        ->At(access.granule)
        .Visit(
            arena_, access.bytes,
            [&](ByteMask bytes, TrackField& field) {
              if (Advance(t, field.state, mine, locks)) {
                if (!Any(raced)) record.Begin(access, mine.Record(access.bytes));
                raced = raced | bytes;
                NameOthers(t, field.last, bytes, record);
              }
              field.last.Note(mine);
            },
            Hooks{sets_});
    return raced;
  }

  bool Step(Thread& t, TrackState& x, const Witness& mine, PackedLockset locks) {
    const TrackedAccess a{.thread = t.tid, .label = mine.label, .locks = locks, .writes = IsWrite(mine.kind)};
    return machine_.Step(x, a, t.counts, [&](Epoch label) { return Knows(t, label); });
  }

  // A field goes on after its race. Is there something to report?
  bool Advance(Thread& t, TrackState& x, const Witness& mine, PackedLockset locks) {
    if (x.phase() != Phase::kRace) {
      if (!Step(t, x, mine, locks)) return false;
      ++t.counts[kRace];
      x = TrackState::Race(t.tid, 1);
      return true;
    }
    if (x.thread() == t.tid || x.reports() == kMaxReports) {
      ++t.counts[kRaceQuiet];
      return false;
    }
    // [RT 3.6 stacks]
    ++t.counts[kRaceAgain];
    x = TrackState::Race(t.tid, x.reports() + 1);
    return true;
  }

  // The accesses of other threads that we still know of and that are not ordered before t; else the last one.
  void NameOthers(Thread& t, const LastAccesses<Witness>& last, ByteMask bytes, RaceRecord& record) {
    uint32_t named = 0;
    const Witness* const known[] = {&last.latest, &last.other};
    for (const Witness* other : known) {
      if (!other->seen || other->thread == t.tid || Knows(t, other->label)) continue;
      record.AddEarlier(other->Record(bytes));
      ++named;
    }
    const Witness* other = last.NotBy(t.tid);
    if (named == 0 && other != nullptr) record.AddEarlier(other->Record(bytes));
  }

  static constexpr uint32_t kMaxReports = 3;  // of one field: RT 1.2, "a subsequent access by a second or third thread"

  RaceTrackOptions options_;
  Arena<Mem> arena_;  // before everything that lives in it
  LocksetTable<Mem> locksets_;
  EventLocksets<Mem> modes_;
  ThreadSlots<Mem> slots_;
  CommitClocks<Mem> commits_;
  ThreadsetTable<Mem> sets_;
  RaceTrackMachine<Mem> machine_;
};

}  // namespace redflag
