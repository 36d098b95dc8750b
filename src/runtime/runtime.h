// The runtime: the engine of detectors/detector.h inside a running program. It owns the detector and everything that finds the
// detector's objects: the shadow, the threads, the synchronization objects, the calling contexts.
//
// One object, built by whoever comes first: calls may come before any constructor of the program or of this library has run.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/arena.h"
#include "detectors/atomics.h"
#include "events/access.h"
#include "events/event.h"
#include "runtime/barriers.h"
#include "runtime/context_tree.h"
#include "runtime/flags.h"
#include "runtime/gate.h"
#include "runtime/local.h"
#include "runtime/lock_log.h"
#include "runtime/lock_names.h"
#include "runtime/lock_order.h"
#include "runtime/memory_line.h"
#include "runtime/recorder.h"
#include "runtime/regions.h"
#include "runtime/shadow.h"
#include "runtime/sync_log.h"
#include "runtime/sync_table.h"
#include "runtime/thread.h"

namespace redflag {
struct ToleratedRace;
}

namespace redflag::rt {

// What is kept of a thread for reports, also after its end.
struct ThreadInfo {
  Tid creator = kNoThread;
  ContextId created_at = kNoContext;
  uint32_t os_id = 0;
  uint32_t flags = 0;  // wire::kFinished, wire::kDetached
  uint64_t frame = 0;  // an address on its stack, where its frames begin; 0: it has not begun
  uint64_t thread_pointer = 0;
  uint32_t creator_step = 0;  // of the creator, then (Thread::step)
  Tid joiner = kNoThread;
  uint32_t joined_step = 0;  // of the joiner, from then on
  char name[16] = {};

  // Threads that ended long ago are forgotten, or a program that creates threads for ever would need more and more memory.
  bool is_forgotten() const { return os_id == 0 && joiner == Tid{}; }
};

struct Misuse;  // emit.h

// A block of the heap.
struct BlockInfo {
  uint64_t begin;
  uint64_t bytes;
  ContextId context;
  Tid thread;
};

// Records what the calling thread has gathered (gathered.h).
[[gnu::noinline]] void RecordAllGathered(Thread* t);

class Runtime {
 public:
  static Runtime& Get() { return *reinterpret_cast<Runtime*>(storage_); }

  // The calling thread, known to the runtime, with the runtime entered; null if the runtime does not watch it now. Leave() when
  // done. Starts what has not started.
  static Thread* Enter() {
    Thread* thread = local.thread;
    if (thread == nullptr) [[unlikely]]
      thread = Meet();
    if (thread == nullptr || thread->mode.inside != 0) [[unlikely]]
      return nullptr;
    thread->mode.inside = Thread::kInside;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (Gate::calls()) [[unlikely]]
      StopAtGate(*thread);
    if (!thread->gathered.is_empty()) [[unlikely]]
      RecordAllGathered(thread);
    return thread;
  }
  static void Leave(Thread* thread) { thread->mode.inside = 0; }
  static bool IsActive();  // for interceptors: Enter() would give a thread

  // ---- Accesses ----
  void AccessRange(Thread& t, uint64_t addr, uint64_t bytes, AccessKind kind, uint64_t place);
  // The same of `size` bytes of one granule, which the filters did not find.
  void AccessGranule(Thread& t, uint64_t addr, ByteMask bytes, AccessKind kind, uint64_t place, uint64_t size) {
    if (Recorder::is_on() || t.mode.takes_lock) [[unlikely]]
      return AccessRange(t, addr, size, kind, place);
    ContextId context = kNoContext;
    AccessCell<true>(t, addr & ~(kGranule - 1), bytes, kind, place, context, addr, size);
  }
  // The log must tell the locks of every access that is recorded: it does from here on.
  void LogLocks(Thread& t);
  // What the thread has gathered of a granule (gathered.h).
  [[gnu::noinline]] void RecordGathered(Thread& t, const Gathered::Entry& entry);
  void RecordGatheredByOthers(Thread& t);
  // The access that was refused last happens after all: what throw_else says, and it is recorded. `why` it could not be refused; null: there
  // is nothing to say.
  void Happens(Thread& t, const char* why);
  // Records a read in the thread's plane, which has `word` for it; in a window of the region. "no": the cell has to look.
  [[gnu::noinline]] bool ReadsInPlane(Thread& t, uint64_t granule, uint64_t* word, PackedAccess mine);
  // What stands in the thread's plane of this granule goes to the cell; in a window of the region, which is being read.
  void LeavePlane(const Thread& t, uint64_t granule);
  const Regions& regions() const { return regions_; }
  MemoryLine LineOf(const Thread& t, uint64_t addr) const { return MemoryLine(shadow_.LineAt(addr), t.state.tid); }
  // Records an access to a cell whose region the thread is in, if that is one of the usual things.
  [[gnu::noinline]] bool TakesShortcut(Thread& t, Detector::Cell& cell, PackedAccess mine, bool is_alone);

  // The same if it races, as the thread has found lately and often: all that is left to do is to count it.
  [[gnu::noinline]] bool RacesAgain(Thread& t, Detector::Cell& cell, uint64_t granule, PackedAccess mine,
                                    bool is_alone);

  // ---- Synchronization: each retags the thread if the detector says so ----
  void Lock(Thread& t, uint64_t lock, LockMode mode, int depth, uint64_t place);
  int Unlock(Thread& t, uint64_t lock, LockMode mode, bool all, uint64_t place);
  LockMode HeldMode(Thread& t, uint64_t lock);
  // Before a lock is taken by somebody who waits for it as long as it takes: may threads wait for one another in a circle (deadlocks.cc)?
  void NoteOrder(Thread& t, uint64_t lock, LockMode mode, uint64_t place);
  // Around an atomic operation, if the user has named functions of locks (own_locks.cc). `changes`: does it write; did it write another value.
  void BeforeAtomic(Thread& t, uint64_t addr, MemoryOrder order, uint64_t place, bool changes);
  void AfterAtomic(Thread& t, uint64_t addr, MemoryOrder order, uint64_t place, bool changes);
  // Locks that are used as none may be (misuse.cc): what would be wrong with it now, if anything; and that it was. LockMade: for reports.
  void LockMade(Thread& t, uint64_t lock, uint64_t place);
  bool FindLockFlaw(Thread& t, uint64_t lock, LockMode mode, bool locks, wire::Flaw& flaw);
  bool IsHeld(uint64_t lock);
  // Or first used; for reports: without its lock, which somebody may hold who waits for a report.
  ContextId WhereMade(uint64_t lock) const;
  // A lock of the program's own is static, or certainly not; does a destructor, which says what it knows, end its life?
  void LockIsStatic(uint64_t lock, bool is_static);
  bool EndsLock(uint64_t lock, bool is_static, bool is_not_static);
  void Misused(Thread& t, uint64_t lock, wire::Flaw flaw, uint64_t place);
  void MayDeadlock(Thread& t, const LockOrder::Cycle& cycle);
  // A tolerant section of this thread has found a race.
  void Tolerated(Thread& t, const ToleratedRace& race);
  // The same of what is about no lock; of a thread that is leaked.
  void Misused(const Misuse& misuse);
  void Tell(const Misuse& misuse);
  void ForgetSync(Thread& t, uint64_t addr);
  // flag: kNotify, of a condition variable.
  void Acquire(Thread& t, uint64_t object, EventFlag flag = EventFlag::kNone);
  void Release(Thread& t, uint64_t object, uint64_t place, EventFlag flag = EventFlag::kNone);
  void ReleaseStore(Thread& t, uint64_t object, uint64_t place);
  void FenceNow(Thread& t, MemoryOrder order, uint64_t place);
  void PureHbLock(Thread& t, uint64_t lock);  // annotation: this lock orders, whatever the detector thinks of locks
  uint64_t BarrierArrive(Thread& t, uint64_t barrier, uint32_t parties, uint64_t place);
  void BarrierLeave(Thread& t, uint64_t phase);
  void ForgetBarrier(Thread& t, uint64_t barrier);
  // A condition variable's, which orders nothing for the detector of this runtime: for the record.
  void NoteCondition(Thread& t, EventKind kind, uint64_t condition);

  // Atomic operations: `operation` is the operation itself, done as one step with what it means.
  template <class Operation>
  auto AtomicLoadAt(Thread& t, uint64_t addr, uint64_t bytes, MemoryOrder order, uint64_t place, Operation operation) {
    const auto access = [&] { AccessRange(t, addr, bytes, AccessKind::kAtomicRead, place); };
    if (Recorder::is_on()) [[unlikely]] {
      const AtomicNote note(*this, t, addr, bytes, place);
      SyncTable::Locked object(syncs_, addr);
      const auto value = operation();
      note.Add(EventKind::kAtomicLoad, order);
      Changed(t, AtomicLoad(detector_, t.state, object->sync, order, access));
      NoteAtomic(t, addr, place, order, false);
      return value;
    }
    if (const SyncObject* object = syncs_.Peek(addr); object != nullptr) {
      const uint32_t version = __atomic_load_n(&object->version, __ATOMIC_ACQUIRE);
      if (LearnsNothing(t, *object, version, order)) {
        const auto value = operation();
        if (__atomic_load_n(&object->version, __ATOMIC_RELAXED) == version) {
          access();
          return value;
        }
      }
    }
    for (;;) {
      SyncTable::Locked object(syncs_, addr, SyncTable::Locked::kLook);
      const auto value = operation();
      if (object) {
        Changed(t, AtomicLoad(detector_, t.state, object->sync, order, access));
        NoteAtomic(t, addr, place, order, false);
        t.KnownOf(&*object) = {.object = &*object, .version = object->version, .acquired = Acquires(order)};
        return value;
      }
      // Nobody ever handed anything on through this variable; unless somebody does right now.
      if (syncs_.Peek(addr) == nullptr) {
        access();
        return value;
      }
    }
  }
  template <class Operation>
  void AtomicStoreAt(Thread& t, uint64_t addr, uint64_t bytes, MemoryOrder order, uint64_t place, Operation operation) {
    const AtomicNote note(*this, t, addr, bytes, place);
    SyncTable::Locked object(syncs_, addr);
    note.Add(EventKind::kAtomicStore, order);
    HandedOn(t,
             AtomicStore(detector_, t.state, object->sync, order,
                         [&] { AccessRange(t, addr, bytes, AccessKind::kAtomicWrite, place); }),
             wire::Handover::kStore, addr, place);
    if (!Releases(order)) NoteAtomic(t, addr, place, order, true);
    operation();
  }
  template <class Operation>
  auto AtomicModifyAt(Thread& t, uint64_t addr, uint64_t bytes, MemoryOrder order, uint64_t place,
                      Operation operation) {
    const AtomicNote note(*this, t, addr, bytes, place);
    SyncTable::Locked object(syncs_, addr);
    note.Add(EventKind::kAtomicRmw, order);
    Modified(t, *object, order, addr, bytes, place);
    return operation();
  }
  template <class Operation>
  bool AtomicCompareExchangeAt(Thread& t, uint64_t addr, uint64_t bytes, MemoryOrder order, MemoryOrder failure_order,
                               uint64_t place, Operation operation) {
    const AtomicNote note(*this, t, addr, bytes, place);
    SyncTable::Locked object(syncs_, addr);
    const bool done = operation();
    note.Add(done ? EventKind::kAtomicRmw : EventKind::kAtomicLoad, done ? order : failure_order);
    if (done) {
      Modified(t, *object, order, addr, bytes, place);
    } else {
      Changed(t, AtomicLoad(detector_, t.state, object->sync, failure_order,
                            [&] { AccessRange(t, addr, bytes, AccessKind::kAtomicRead, place); }));
      NoteAtomic(t, addr, place, failure_order, false);
    }
    return done;
  }

  // ---- Transactions (transactions.cc) ----
  void TransactionAccess(Thread& t, uint64_t addr, uint64_t bytes, AccessKind kind, uint64_t place);
  void Commit(Thread& t, uint64_t place);
  void CommitAccess(Thread& t, const Thread::TransactionAccess& access);
  void OrderTransactions();

  // ---- Memory ----
  void Allocated(Thread& t, uint64_t block, uint64_t bytes, uint64_t place);
  // is_reused: whoever frees it goes on using the memory, for what comes next.
  void Freeing(Thread& t, uint64_t block, uint64_t place, bool is_reused = false);
  void Unmapped(Thread& t, uint64_t addr, uint64_t bytes);
  void BeginAnew(Thread& t, uint64_t addr, uint64_t bytes);  // the accesses to it are forgotten, nothing else
  bool FindBlock(uint64_t addr, BlockInfo& found);
  // Of memory that a collector of garbage manages, while the program stands still (abi_java.cc): the first block that begins in
  // [from, to); all of a range is gone; all of a range is elsewhere.
  bool NextBlock(uint64_t from, uint64_t to, BlockInfo& found) const;
  void Collected(Thread& t, uint64_t addr, uint64_t bytes);
  void Moved(Thread& t, uint64_t from, uint64_t to, uint64_t bytes);

  // ---- Threads ----
  Thread* NewThread(Thread* creator, uint64_t place, bool detached);
  void Begin(Thread* thread);  // the calling thread is this one
  void End(Thread* thread);    // the calling thread does nothing more
  void EndOf(Thread* thread);  // the same of another one, which has ended unseen
  void Join(Thread& t, Thread* child);
  void Drop(Thread* thread);  // nobody will join it
  // After a fork, in the child: `t` is the only thread there is, and whatever others did is past. `os_id`: what it was in the parent.
  void BeginProcess(Thread& t, uint32_t os_id);
  // At a closed gate: whatever others have done so far is past for this thread.
  void LearnAll(Thread& t);
  ThreadInfo& InfoOf(Tid tid) { return infos_[Raw(tid)]; }
  uint32_t thread_count() const { return __atomic_load_n(&next_tid_, __ATOMIC_RELAXED); }

  Detector& detector() { return detector_; }
  ContextTree& contexts() { return contexts_; }
  const ContextTree& contexts() const { return contexts_; }
  Shadow& shadow() { return shadow_; }
  Arena<AtomicMem>& arena() { return arena_; }
  uint64_t slot_count() { return detector_.slots().size(); }
  const Flags& flags() const { return flags_; }
  // The locks that were held at an access, `chain` being what its context says of them. False: forgotten.
  bool FindLocks(const AccessRecord& access, ContextId chain, LockLog::Entry& found);

  // Why the thread `t` knows nothing of an earlier access: the latest that it knows of that thread; and what would have told it, had it
  // been stronger. "no": there is nothing to say, or the detector does not know.
  bool FindKnown(Thread& t, const AccessRecord& earlier, wire::Known& known);
  bool FindWeak(Thread& t, const AccessRecord& earlier, wire::Weak& weak);
  // Who may access what the first of the earlier accesses of t's latest race has touched. How many; `more`: that are not among them.
  uint32_t FindOwners(Thread& t, const AccessRecord& earlier, wire::Owner (&owners)[wire::kMaxOwners], uint32_t& more);
  // Is the earlier access of a race a free that comes before what this thread does now? Then that is a use of freed memory.
  static bool IsOrderedFree(const Thread& t, const AccessRecord& access, PlaceFlag flag);

  // The program has declared races on this memory harmless: for the record.
  void NoteBenign(Thread& t, uint64_t addr, uint64_t bytes, EventFlag flag);
  // All that happens from now on is written down, if the user wants that.
  void Record(Thread& t);

  // The end of the process: flushes what was found; the status to end with.
  static int FinishProcess(int status);

  // If the process uses more memory than it may, everything that cells remember is forgotten: races between what came before and
  // what comes after are not found. Called now and then.
  void KeepMemoryLimit(Thread& t);
  // Everything that was seen is forgotten, when somebody enters the runtime next.
  void AskToForgetAll() {
    if (CanStopAll()) Gate::Ask();
  }
  // No race is told while it is not watching.
  void Watch(bool is_watching) { __atomic_store_n(&is_watching_, is_watching, __ATOMIC_RELAXED); }
  // How often old accesses were forgotten, for whatever reason.
  uint64_t flushes() const { return forgotten_ + era_; }
  bool is_watching() const { return __atomic_load_n(&is_watching_, __ATOMIC_RELAXED); }
  uint64_t races() const { return __atomic_load_n(&races_, __ATOMIC_RELAXED); }

 private:
  enum State : uint32_t { kNew, kStarting, kRunning, kOff };
  static constexpr uint32_t kMaxThreads = 1u << 24;
  static constexpr uint32_t kRememberedThreads = 1u << 16;  // whatever became of them
  static constexpr uint32_t kMaxBlocks = 1u << 28;

  Runtime();
  static Thread* Meet();
  static bool Start();
  static bool SwitchOff(const char* why);  // false
  [[gnu::cold, gnu::noinline]] static void StopAtGate(Thread& t);
  // Times are used up: forgets all that was labelled with one, and begins to count anew. At a closed gate, nobody else inside.
  void BeginEra(Thread& t);
  void Restart(Thread& t);
  // Do accesses come to the gate if it is closed? In a box they enter the runtime, else they look for their region.
  bool CanStopAll() const { return kIsBoxed || regions_.can_own(); }

  // ---- What is written down (recorder.h); nothing, if nothing is ----

  // Where something happens that is about to be noted. No lines or locks are held yet.
  ContextId ContextToNote(Thread& t, uint64_t place) {
    if (!Recorder::is_on()) [[likely]]
      return kNoContext;
    return PrepareNote(t, place);
  }
  [[gnu::cold, gnu::noinline]] ContextId PrepareNote(Thread& t, uint64_t place);
  static Event EventOf(Thread& t, EventKind kind, ContextId context);
  // An event on a range of memory; the lines of it are held until the end of this.
  class MemoryNote {
   public:
    MemoryNote(Runtime& runtime, Thread& t, EventKind kind, uint64_t addr, uint64_t bytes, uint64_t place,
               EventFlag flag = EventFlag::kNone)
        : context_(runtime.ContextToNote(t, place)), lines_(t, addr, bytes) {
      if (Recorder::is_on()) [[unlikely]]
        Add(t, kind, addr, bytes, flag);
    }

   private:
    [[gnu::cold, gnu::noinline]] void Add(Thread& t, EventKind kind, uint64_t addr, uint64_t bytes, EventFlag flag);
    const ContextId context_;
    const Lines lines_;
  };
  // An atomic operation: Add() under the lock of its object.
  class AtomicNote {
   public:
    AtomicNote(Runtime& runtime, Thread& t, uint64_t addr, uint64_t bytes, uint64_t place)
        : thread_(t),
          addr_(addr),
          bytes_(bytes),
          place_(place),
          context_(runtime.ContextToNote(t, place)),
          lines_(t, addr, bytes) {}
    void Add(EventKind kind, MemoryOrder order) const {
      if (Recorder::is_on()) [[unlikely]]
        AddEvent(kind, order);
    }

   private:
    [[gnu::cold, gnu::noinline]] void AddEvent(EventKind kind, MemoryOrder order) const;
    void AddIgnored(EventKind kind, MemoryOrder order) const;
    Thread& thread_;
    const uint64_t addr_;
    const uint64_t bytes_;
    const uint64_t place_;
    const ContextId context_;
    const Lines lines_;
  };
  // One on a synchronization object, under its lock.
  static void NoteSync(Thread& t, EventKind kind, const SyncObject& object, ContextId context = kNoContext,
                       LockMode mode = LockMode::kExclusive, EventFlag flag = EventFlag::kNone) {
    if (Recorder::is_on()) [[unlikely]]
      AddSync(t, kind, object.address, object.name, context, mode, flag);
  }
  [[gnu::cold, gnu::noinline]] static void AddSync(Thread& t, EventKind kind, uint64_t addr, SyncId name,
                                                   ContextId context, LockMode mode, EventFlag flag);
  static void NoteThread(Thread& t, EventKind kind, Tid other, ContextId context = kNoContext) {
    if (Recorder::is_on()) [[unlikely]]
      AddThread(t, kind, other, context);
  }
  [[gnu::cold, gnu::noinline]] static void AddThread(Thread& t, EventKind kind, Tid other, ContextId context);
  [[gnu::cold, gnu::noinline]] void RecordRange(Thread& t, uint64_t addr, uint64_t bytes, AccessKind kind,
                                                uint64_t place);
  static void NoteBarrier(Thread& t, EventKind kind, const Barriers::Phase& phase) {
    if (Recorder::is_on()) [[unlikely]]
      AddBarrier(t, kind, phase);
  }
  [[gnu::cold, gnu::noinline]] static void AddBarrier(Thread& t, EventKind kind, const Barriers::Phase& phase);
  [[gnu::cold, gnu::noinline]] static void NoteTold(Thread& t);
  static void NoteEra(Thread& t);

  void NoteOrderAt(Thread& t, uint64_t lock, LockMode mode, ContextId taken_at);
  SyncId NameInOrder(uint64_t lock);
  static bool AreOrdered(ThreadStep a, ThreadStep b);
  [[gnu::cold, gnu::noinline]] bool IsWatched(Thread& t, AccessKind kind, uint64_t place);
  void ExamineRange(Thread& t, uint64_t addr, uint64_t bytes, AccessKind kind, uint64_t place);
  // Where what the first filter knows of [addr, end) ends.
  template <bool kIsWrite>
  static uint64_t SkipKnown(uint64_t addr, uint64_t end);
  void ForgetCells(uint64_t addr, uint64_t bytes);
  void FreeRange(Thread& t, uint64_t addr, uint64_t bytes, uint64_t place, bool is_reused);
  uint64_t EndQuickly(Thread& t, uint64_t addr, uint64_t end, PackedAccess free);
  bool IsUsedAgain(Thread& t);
  void ForgetPages(uint64_t addr, uint64_t bytes);
  // Calls visit(first, bytes) for the parts whose cells may be in use.
  template <class Visitor>
  void ForEachTouched(uint64_t addr, uint64_t bytes, Visitor visit) const {
    if (bytes < Shadow::kLarge) return visit(addr, bytes);
    regions_.ForEachEntered(addr, bytes,
                            [&](uint64_t first, uint64_t count) { shadow_.ForEachTouched(first, count, visit); });
  }

  // Some detectors can tell at a glance.
  template <class D>
  static bool KnowsCarried(const typename D::Thread& t, const typename D::Sync& sync) {
    if constexpr (requires { D::KnowsCarried(t, sync); }) {
      return D::KnowsCarried(t, sync);
    } else {
      return false;
    }
  }
  // Does a load from an object at this version tell the thread nothing?
  static bool LearnsNothing(Thread& t, const SyncObject& object, uint32_t version, MemoryOrder order) {
    const Thread::KnownSync& known = t.KnownOf(&object);
    if (known.object == &object && known.version == version && (known.acquired || !Acquires(order))) return true;
    // What carries nothing, and who does not acquire, is taken note of: that may be why there is a race (wire::Weak).
    return version % 2 == 0 && Acquires(order) && KnowsCarried<Detector>(t.state, object.sync);
  }

  // The context of an access that is about to be recorded.
  [[gnu::always_inline]] ContextId ContextToRecord(Thread& t, uint64_t place) {
    if (--t.until_memory_check <= 0) [[unlikely]]
      KeepMemoryLimit(t);
    if (t.mode.locks_to_log) LogLocks(t);
    return t.ContextOf(contexts_, place);
  }

  // An access to bytes of one granule, being part of one to [addr, addr + size). Finds out the context if it needs it.
  template <bool kIsFiltered>
  [[gnu::always_inline]] void AccessCell(Thread& t, uint64_t granule, ByteMask bytes, AccessKind kind, uint64_t place,
                                         ContextId& context, uint64_t addr, uint64_t size) {
    auto& cell = *static_cast<Detector::Cell*>(shadow_.CellAt(granule));
    const PackedAccess anywhere(t.now | uint64_t{Raw(kind)} << PackedAccess::kKindShift |
                                uint64_t{Raw(bytes)} << PackedAccess::kBytesShift);
    if (!kIsFiltered && cell.Covers(anywhere)) return;
    if (kIgnoresLines && !LineOf(t, granule).IsShared() && IgnoresLine(t, granule, cell, anywhere)) return;
    if (context == kNoContext) {
      context = ContextToRecord(t, place);
      if (context == kIgnoredContext) return;
    }
    const bool is_tried = kIsFiltered && t.tried_in_vain == granule;
    t.tried_in_vain = 0;
    if (!kIsBoxed && !is_tried && RecordsInRegion(t, granule, PackedAccess(anywhere.word() | Raw(context))))
        [[likely]] {
      Detector::Count(t.state, kind);
    } else if (!ExamineCell(t, granule, bytes, kind, context, addr, size)) {
      return;
    }
    if (!IsAtomic(kind) && !t.mode.records && cell.has_record()) NoteSeen(granule, bytes, IsWrite(kind));
  }
  // Is the line of this granule, which several have not touched yet, the thread's alone? Then a label is all that is left there.
  [[gnu::noinline]] bool IgnoresLine(Thread& t, uint64_t granule, Detector::Cell& cell, PackedAccess label);
  // Where those of a range end that are the thread's alone.
  uint64_t SkipOwnLines(const Thread& t, uint64_t addr, uint64_t end) const;
  void ForgetLines(uint64_t addr, uint64_t bytes);
  // Records an access to a granule, if that is one of the usual things, wherever what it says has to be.
  [[gnu::noinline]] bool RecordsInRegion(Thread& t, uint64_t granule, PackedAccess mine);
  static void TakeIn(uint64_t addr, uint64_t word);
  template <AccessKind kKind>
  uint64_t RecordQuickly(Thread& t, uint64_t addr, uint64_t end, ContextId context);
  // False: there is nothing of it that makes another one redundant, because it was refused or may be the next time.
  [[gnu::noinline]] bool ExamineCell(Thread& t, uint64_t granule, ByteMask bytes, AccessKind kind, ContextId context,
                                     uint64_t addr, uint64_t size);
  ByteMask Examine(Thread& t, uint64_t granule, ByteMask bytes, AccessKind kind, ContextId context, IfRacy if_racy);
  // The same of an access to several granules, before any of them has seen it.
  [[gnu::cold, gnu::noinline]] bool IsRefused(Thread& t, uint64_t addr, uint64_t bytes, AccessKind kind,
                                              uint64_t place);
  // The race of t.record: is the access that completes it refused?
  [[gnu::noinline]] bool Report(Thread& t, uint64_t addr, uint64_t bytes);
  [[gnu::cold, gnu::noinline]] bool Refuse(Thread& t, uint64_t addr, uint64_t bytes, const Policy& policy,
                                           bool is_news);
  // What becomes of an access of this thread that races.
  IfRacy IfRacyOf(const Thread& t, uint64_t addr, uint64_t bytes) const {
    if (!Policies::are_on()) [[likely]]
      return IfRacy::kReported;
    return FindIfRacy(t, addr, bytes);
  }
  [[gnu::cold, gnu::noinline]] static IfRacy FindIfRacy(const Thread& t, uint64_t addr, uint64_t bytes);
  void Changed(Thread& t, Tag tag) {
    if (tag == Tag::kChanged) Retag(t);
  }
  // The same after something that may hand on what the thread knows, and how that was done.
  void HandedOn(Thread& t, Tag tag, wire::Handover how, uint64_t object, uint64_t place) {
    if (tag != Tag::kChanged) return;
    if constexpr (kGoesByOrder) {
      const PackedAccess before(t.now);
      sync_logs_[Raw(before.slot())].AddHanded(before.time(), how, object, place, local.top[-1].pc);
    }
    Retag(t);
  }
  // An atomic operation, before which and after which the thread is at one and the same time if it was too weak.
  void NoteAtomic(Thread& t, uint64_t object, uint64_t place, MemoryOrder order, bool stores) {
    if constexpr (kGoesByOrder) {
      const PackedAccess now(t.now);
      sync_logs_[Raw(now.slot())].AddAtomic(now.time(), object, place, order, stores);
    }
  }
  void Modified(Thread& t, SyncObject& object, MemoryOrder order, uint64_t addr, uint64_t bytes, uint64_t place) {
    HandedOn(t,
             AtomicRmw(detector_, t.state, object.sync, order,
                       [&] { AccessRange(t, addr, bytes, AccessKind::kAtomicWrite, place); }),
             wire::Handover::kStore, addr, place);
    if (order == MemoryOrder::kRelaxed) return;  // a counter, most likely, that is not meant to order anything
    if (!Releases(order)) NoteAtomic(t, addr, place, order, true);
    if (!Acquires(order)) NoteAtomic(t, addr, place, order, false);
  }
  void Retag(Thread& t);
  [[gnu::noinline]] void Renew(Thread& t);
  static void Label(Thread& t);  // the part of it that can be done for another thread
  void PrintStats();
  // The chains of those that were taken after it are others then.
  [[gnu::always_inline]] void RemoveLock(Thread& t, size_t index) {
    t.locks.Remove(index);
    for (size_t i = index; i < t.locks.size(); ++i) {
      const ContextId rest = i == 0 ? kNoContext : t.locks[i - 1].chain;
      t.locks[i].chain = t.Child(contexts_, rest, ContextTree::Held(t.locks[i].context));
    }
    t.SetChain(t.locks.empty() ? kNoContext : t.locks[t.locks.size() - 1].chain);
  }
  // Of one of the program's own making.
  void HoldOwn(Thread& t, HeldAt lock);
  [[gnu::cold, gnu::noinline]] void LetGoOfOwn(Thread& t, size_t index);
  // The thread does something at this place: if that is outside of the function of locks that it was in, it has the lock.
  [[gnu::cold, gnu::noinline]] void SettleLock(Thread& t, uint64_t place);
  void TakeLock(Thread& t);
  uint64_t OwnLockOf(const TakenLock& taken);
  void FreeCells(Thread& t, uint64_t addr, uint64_t bytes, uint64_t place);
  uint32_t NewBlock(Thread& t, const BlockInfo& block);
  void FreeBlock(Thread& t, uint32_t index);
  // The pages that begin in a block, but not with it, say so.
  void CoverPages(const BlockInfo& block, uint32_t index);
  void GiveBlocksBack(Thread& t, uint32_t keep);

  Shadow shadow_;
  Regions regions_;
  Flags flags_;
  ContextTree contexts_;
  Arena<AtomicMem> arena_;
  Detector detector_;
  LockOrder lock_order_;
  SyncTable syncs_;
  Barriers barriers_;
  LockLog logs_[PackedAccess::kMaxSlots];                          // of detectors that remember no locks
  AtomicMem::Lock own_locks_lock_;                                 // of SyncObject::own_lock
  LockNames lock_names_;                                           // of the others
  SyncLog sync_logs_[kGoesByOrder ? PackedAccess::kMaxSlots : 1];  // of detectors that go by order alone
  void ForgetThreadsBefore(Tid tid);

  ThreadInfo* infos_ = nullptr;
  BlockInfo* blocks_ = nullptr;
  uint32_t next_block_ = 1;
  uint32_t free_block_ = 0;  // the first of a list through `begin`; threads keep some at hand
  AtomicMem::Lock blocks_lock_;
  uint32_t next_tid_ = 0;
  uint64_t races_ = 0;
  uint64_t counts_[Detector::kRuleCount] = {};  // of the threads that have ended
  AtomicMem::Lock commit_lock_;                 // a commit is one step among commits
  AtomicMem::Lock forgetting_;
  uint64_t forgotten_ = 0;  // how often
  uint32_t era_ = 0;        // changes at a closed gate
  bool is_watching_ = true;

  static uint32_t state_;  // a State
  static char storage_[];
};

// ---- Calls: the stack that contexts are made of ----

inline void EnterFunction(uint64_t pc) {
  if (Enter(pc)) return;
  if (local.thread == nullptr && Runtime::IsActive()) return EnterFunction(pc);
  if (local.thread != nullptr) local.thread->LoseFrames(local.thread->lost_frames() + 1);
}

inline void LeaveFunction() {
  if (Leave()) return;
  Thread* thread = local.thread;
  if (thread != nullptr && thread->lost_frames() != 0) thread->LoseFrames(thread->lost_frames() - 1);
}

}  // namespace redflag::rt
