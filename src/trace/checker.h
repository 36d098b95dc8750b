// Well-formedness of an event stream: can a program have done this? A reader feeds the checker every event before it
// lets it into a trace, a generator of random traces asks it which events may come next. Detectors and replay rely on
// these rules and do not check them again.
//
// Invariants:
// - Check() either accepts the event and moves on, or returns a problem and leaves the checker as it was; so a caller
//   may try one event after another.
// - Every call is O(log n). Memory follows the objects that are alive: threads not yet joined, locks held, blocks
//   allocated, barriers, and one byte-sized note for each synchronization object seen.
//
// What is well-formed, in one place:
// - A thread is initial or forked once, by another thread, before it acts; nothing happens in it after it ended or was
//   joined. It is joined at most once, by another thread; joining a running thread ends it.
// - Locks exclude each other as locks do. Holds are counted for each thread; one thread does not mix modes. A lock
//   whose holder has ended stays held, until a kLockCreate makes a new lock of it.
// - A barrier has one number of parties. A thread that arrived does nothing but leave, once its phase is complete.
// - A transaction is one or more kTxRead/kTxWrite and a kTxCommit, with no other event of that thread between.
// - Allocations do not overlap live ones and are freed as they were allocated. kNewMemory is a custom allocator at
//   work: it lies wholly inside a live allocation, which it carves up, or wholly outside all. Accesses may go anywhere.
// - An object that shares an address with atomics is always named with that address; barriers have none.
// - Function exits and the ends of ignored regions have a beginning. Memory orders fit their operation.
//
// One thread at a time. A checker that was given a Trace for its names must not outlive it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "events/event.h"
#include "trace/interval_set.h"
#include "trace/trace.h"

namespace redflag {

// Is the flag one that an event of this kind can have?
constexpr bool FlagFits(const Event& event) {
  if (event.flag == EventFlag::kNone) return true;
  if (event.kind == EventKind::kLock || event.kind == EventKind::kUnlock) return event.flag == EventFlag::kOwn;
  if (event.kind == EventKind::kForget) return event.flag == EventFlag::kCells;
  if (event.kind == EventKind::kBenignRace) return event.flag == EventFlag::kAround;
  if (event.kind == EventKind::kSignal) return event.flag == EventFlag::kNotify || event.flag == EventFlag::kReplaces;
  return event.kind == EventKind::kWait && event.flag == EventFlag::kNotify;
}

class TraceChecker {
 public:
  static constexpr uint64_t kMaxHeldLocks = 4096;       // distinct locks that one thread holds
  static constexpr uint64_t kMaxLockDepth = 1'000'000;  // holds of one lock by one thread
  static constexpr uint64_t kMaxCallDepth = 1'000'000;
  static constexpr uint64_t kMaxBarrierParties = 65536;
  static constexpr uint64_t kMaxAccess = uint64_t{1} << 20;  // bytes of a plain access, as memcpy makes them
  static constexpr uint64_t kMaxRange = uint64_t{1} << 40;   // bytes of an allocation or an annotated range

  // The part of an event that a problem is about, so that a reader can point at it.
  enum class Operand : uint8_t { kThread, kVerb, kObject, kMemory, kOrder };

  struct Problem {
    Operand operand;
    std::string message;
  };

  // `names`, if given, names threads and objects in messages; they are called "T3" and "lock #5" otherwise.
  // It may grow between calls.
  explicit TraceChecker(const Trace* names = nullptr) : names_(names) {}

  // A thread that exists from the start. Before any event of it.
  void AddInitialThread(Tid thread);

  [[nodiscard]] std::optional<Problem> Check(const Event& event);

  // Whether this thread holds this lock, in either mode.
  bool Holds(Tid thread, SyncId lock) const;

  // How many events had been accepted when the live allocation that begins at `addr` was made, if there is
  // one.
  std::optional<uint64_t> AllocatedBy(Addr addr) const;

 private:
  enum class ObjectClass : uint8_t { kLock, kSignal, kBarrier };
  struct Object {
    ObjectClass object_class = ObjectClass::kLock;
    Addr addr{};             // 0: none
    bool destroyed = false;  // it may come back as something else, at the same place
  };

  struct Thread {
    bool ended = false;
    bool in_transaction = false;
    bool in_barrier = false;
    SyncId barrier = kNoSync;    // which, and ...
    uint64_t barrier_phase = 0;  // ... which phase of it, while in_barrier
    uint64_t held_locks = 0;
    uint64_t call_depth = 0;
    uint64_t ignored_reads = 0;
    uint64_t ignored_writes = 0;
  };
  struct Lock {
    LockMode mode = LockMode::kExclusive;
    std::map<Tid, uint64_t> holders;  // -> depth; never empty, ended threads stay
  };
  struct Barrier {
    uint64_t parties = 0;
    uint64_t arrived = 0;  // in the phase that is under way
    uint64_t phase = 0;    // how many phases are complete
  };
  struct Allocation {
    uint64_t size = 0;
    uint64_t event = 0;
  };

  using Verdict = std::optional<Problem>;

  Verdict Apply(const Event& event, Thread& thread);
  Verdict CheckActs(const Event& event) const;
  Verdict CheckBusy(const Event& event, const Thread& thread) const;
  Verdict CheckBytes(const Event& event) const;
  Verdict CheckOrder(const Event& event) const;
  Verdict CheckClass(const Event& event, ObjectClass object_class) const;
  void Use(const Event& event, ObjectClass object_class);  // after CheckClass
  Verdict ApplyLock(const Event& event, Thread& thread);
  Verdict ApplyUnlock(const Event& event, Thread& thread);
  Verdict ApplyLockCreate(const Event& event);
  Verdict ApplyLockDestroy(const Event& event);
  Verdict ApplyArrive(const Event& event, Thread& thread);
  Verdict ApplyLeave(const Event& event, Thread& thread);
  Verdict ApplyFork(const Event& event);
  Verdict ApplyJoin(const Event& event);
  Verdict ApplyCommit(Thread& thread);
  Verdict ApplyAlloc(const Event& event);
  Verdict ApplyFree(const Event& event);
  Verdict CheckNewMemory(const Event& event) const;

  // The live allocation that begins highest among those that share a byte with [addr, addr + size).
  std::map<Addr, Allocation>::const_iterator Overlapping(Addr addr, uint64_t size) const;

  std::string NameOf(Tid thread) const;
  std::string NameOf(SyncId sync, std::string_view what) const;
  std::string HolderOf(const Lock& lock) const;  // "held for reading by 'A', which has ended"

  const Trace* names_;
  uint64_t accepted_ = 0;
  std::map<Tid, Thread> threads_;  // created and not joined
  IntervalSet joined_;             // numbers of joined threads, never used again
  std::map<SyncId, Object> objects_;
  std::map<SyncId, Lock> locks_;  // those that are held
  std::map<SyncId, Barrier> barriers_;
  std::map<Addr, Allocation> allocations_;  // live, disjoint
};

}  // namespace redflag
