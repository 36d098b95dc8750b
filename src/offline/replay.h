// Replay: the offline engine. Feeds a recorded stream of events into one detector, doing for it what the
// runtime does online (detectors/detector.h, "The engine").
//
// Offline, a ContextId is the index of the event: it names the access exactly, costs nothing, and the call
// stack, the position and the place where a lock was taken are read off the trace when a report needs them.
//
// The stream must be well-formed (trace/checker.h). One thread, host side.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "clocks/commit_clocks.h"
#include "detectors/atomics.h"
#include "detectors/detector.h"
#include "events/access.h"
#include "events/event.h"
#include "events/race_record.h"
#include "offline/atomic_table.h"
#include "offline/cell_map.h"
#include "offline/interval_list.h"
#include "offline/object_map.h"

namespace redflag {

template <Detector D>
class Replay {
 public:
  using Counts = std::array<uint64_t, std::size(D::kRules)>;

  // Threads that exist from the start; the others are forked.
  explicit Replay(const std::vector<Tid>& initial_threads) : cells_(detector_), atomics_(detector_) {
    for (const Tid tid : initial_threads) detector_.OnStart(NewThread(tid).state);
  }

  // A variable that exists from the start, for detectors that keep a cell for each object.
  void DeclareVariable(Addr addr, uint64_t size) {
    if constexpr (D::kMap == Map::kObject) cells_.Declare(addr, size);
  }
  ~Replay() = default;
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  // Races that completed so far, in order of the completing event. The caller may take them away.
  std::vector<RaceRecord>& races() { return races_; }
  D& detector() { return detector_; }
  // Bytes of the detector's own tables and of its cells.
  size_t MemoryInUse() const {
    size_t bytes = detector_.arena().in_use() + cells_.MemoryInUse() + atomics_.MemoryInUse();
    if constexpr (requires { detector_.cell_arena(); }) bytes += detector_.cell_arena().in_use();
    return bytes;
  }

  // How often each rule was applied, over all threads.
  Counts TotalCounts() const {
    Counts total = gone_counts_;
    for (const auto& thread : threads_) {
      if (thread != nullptr) AddCounts(total, thread->state);
    }
    return total;
  }

  // The lock of the trace that a lock in a record stands for.
  SyncId OriginalLock(SyncId lock) const {
    return Raw(lock) < kFirstRenamed ? lock : originals_[Raw(lock) - kFirstRenamed];
  }

  // `index` is the event's place in the stream; it must fit the 32 bits of a ContextId.
  void Step(const Event& event, uint64_t index) {
    index_ = index;
    switch (event.kind) {
      case EventKind::kRead:
      case EventKind::kWrite:
        return PlainAccess(event);
      case EventKind::kAtomicLoad:
      case EventKind::kAtomicStore:
      case EventKind::kAtomicRmw:
        return AtomicAccess(event);
      case EventKind::kFence:
        Fence(detector_, ThreadOf(event).state, event.order);
        return;
      case EventKind::kLock:
      case EventKind::kUnlock:
        return LockOrUnlock(event);
      case EventKind::kSignal:
        detector_.OnReleaseMerge(ThreadOf(event).state, SyncOf(event));
        return;
      case EventKind::kWait:
        detector_.OnAcquire(ThreadOf(event).state, SyncOf(event));
        return;
      case EventKind::kBarrierArrive:
        return BarrierArrive(event);
      case EventKind::kBarrierLeave:
        return BarrierLeave(event);
      case EventKind::kThreadFork:
        return Fork(event);
      case EventKind::kThreadJoin:
        return Join(event);
      case EventKind::kThreadEnd:
        return End(ThreadOf(event));
      case EventKind::kTxRead:
        return AddFootprint(event, AccessKind::kRead);
      case EventKind::kTxWrite:
        return AddFootprint(event, AccessKind::kWrite);
      case EventKind::kTxCommit:
        return Commit(event);
      case EventKind::kAlloc:
      case EventKind::kNewMemory:
      case EventKind::kUnpublish:
        return BeginLifetime(event, AccessOrigin::kAlloc);
      case EventKind::kFree:
        return Free(event);
      case EventKind::kIgnoreReadsBegin:
        ++ThreadOf(event).ignore_reads;
        return;
      case EventKind::kIgnoreReadsEnd:
        --ThreadOf(event).ignore_reads;
        return;
      case EventKind::kIgnoreWritesBegin:
        ++ThreadOf(event).ignore_writes;
        return;
      case EventKind::kIgnoreWritesEnd:
        --ThreadOf(event).ignore_writes;
        return;
      case EventKind::kBenignRace:
        benign_.Add(event.addr, event.size, 0);
        return;
      case EventKind::kPublish:
        return Publish(event);
      case EventKind::kPureHbMutex:
        detector_.OnPureHbLock(ThreadOf(event).state, SyncOf(event));
        return;
      case EventKind::kLockCreate:
      case EventKind::kLockDestroy:
        SyncPlace(event.sync()).reset();
        Rename(event.sync());
        return;
      case EventKind::kForget:
      case EventKind::kTold:
      case EventKind::kThreadName:
      case EventKind::kFunctionEnter:
      case EventKind::kFunctionExit:
      case EventKind::kExpectRace:
        return;  // for reports and tests: read off the trace
    }
  }

 private:
  using Sync = typename D::Sync;
  using Cell = typename D::Cell;

  struct ThreadState {
    ThreadState(D& detector, Tid tid) : state(detector, tid) {}
    typename D::Thread state;
    std::vector<Footprint> footprint;
    std::shared_ptr<Sync> barrier_phase;  // the phase this thread arrived in
    uint32_t ignore_reads = 0;
    uint32_t ignore_writes = 0;
    bool ended = false;
  };

  struct Barrier {
    std::shared_ptr<Sync> phase;
    uint64_t arrived = 0;
  };

  // ---- Objects ----

  ThreadState& NewThread(Tid tid) {
    if (threads_.size() <= Raw(tid)) threads_.resize(Raw(tid) + 1);
    threads_[Raw(tid)] = std::make_unique<ThreadState>(detector_, tid);
    return *threads_[Raw(tid)];
  }
  ThreadState& ThreadOf(const Event& event) { return *threads_[Raw(event.thread)]; }

  std::unique_ptr<Sync>& SyncPlace(SyncId id) {
    if (syncs_.size() <= Raw(id)) syncs_.resize(Raw(id) + 1);
    return syncs_[Raw(id)];
  }
  Sync& SyncOf(const Event& event) {
    std::unique_ptr<Sync>& place = SyncPlace(event.sync());
    if (place == nullptr) place = std::make_unique<Sync>(detector_);
    return *place;
  }

  // A lock that was created or destroyed is another lock: detectors know it by a new name.
  static constexpr uint32_t kFirstRenamed = 1u << 30;
  void Rename(SyncId lock) {
    names_[lock] = SyncId{kFirstRenamed + static_cast<uint32_t>(originals_.size())};
    originals_.push_back(lock);
  }
  SyncId NameOf(SyncId lock) const {
    if (names_.empty()) return lock;
    const auto name = names_.find(lock);
    return name == names_.end() ? lock : name->second;
  }

  ContextId Here() const { return ContextId(static_cast<uint32_t>(index_)); }

  // ---- Accesses ----

  void PlainAccess(const Event& event) {
    const AccessKind kind = event.kind == EventKind::kWrite ? AccessKind::kWrite : AccessKind::kRead;
    ThreadState& thread = ThreadOf(event);
    if (!published_.empty()) TakePublished(thread, event.addr, event.size, kind);
    AccessRange(thread, event.addr, event.size, kind, AccessOrigin::kProgram);
  }

  void AtomicAccess(const Event& event) {
    const AccessKind kind = event.kind == EventKind::kAtomicLoad ? AccessKind::kAtomicRead : AccessKind::kAtomicWrite;
    ThreadState& thread = ThreadOf(event);
    TakePublished(thread, event.addr, event.size, kind);
    Sync& sync = atomics_.At(event.addr);
    const auto access = [&] { AccessRange(thread, event.addr, event.size, kind, AccessOrigin::kProgram); };
    if (event.kind == EventKind::kAtomicLoad) {
      AtomicLoad(detector_, thread.state, sync, event.order, access);
    } else if (event.kind == EventKind::kAtomicStore) {
      AtomicStore(detector_, thread.state, sync, event.order, access);
    } else {
      AtomicRmw(detector_, thread.state, sync, event.order, access);
    }
  }

  static bool IsIgnored(const ThreadState& thread, AccessKind kind) {
    return IsWrite(kind) ? thread.ignore_writes != 0 : thread.ignore_reads != 0;
  }

  void AccessRange(ThreadState& thread, Addr addr, uint64_t size, AccessKind kind, AccessOrigin origin) {
    if (IsIgnored(thread, kind)) return;
    if ((Raw(addr) & (kGranule - 1)) + size <= kGranule) {  // nearly all accesses
      AccessGranule(thread, GranuleOf(addr), MaskOf(addr, size), kind, origin);
      return;
    }
    ForEachGranule(addr, size,
                   [&](Addr granule, ByteMask bytes) { AccessGranule(thread, granule, bytes, kind, origin); });
  }

  void AccessGranule(ThreadState& thread, Addr granule, ByteMask bytes, AccessKind kind, AccessOrigin origin) {
    if (!benign_.empty()) {
      bytes = WithoutBenign(granule, bytes);
      if (!Any(bytes)) return;
    }
    cells_.ForBytes(granule, bytes, [&](Cell& cell, ByteMask part, Addr object, uint64_t object_size) {
      AccessCell(thread, cell,
                 Access{.granule = granule,
                        .granules = 1,
                        .object = object,
                        .object_size = object_size,
                        .bytes = part,
                        .kind = kind,
                        .origin = origin,
                        .context = Here()});
    });
  }

  void AccessCell(ThreadState& thread, Cell& cell, const Access& access) {
    if (!Any(detector_.OnAccess(thread.state, cell, access, record_))) return;
    record_.event = index_;
    races_.push_back(record_);
  }

  ByteMask WithoutBenign(Addr granule, ByteMask bytes) {
    benign_.ForEach(granule, kGranule, [&](Addr begin, Addr end, int&) {
      const Addr first = begin < granule ? granule : begin;
      bytes = bytes & ~MaskOf(first, end - first);
    });
    return bytes;
  }

  // ---- Locks and barriers ----

  void LockOrUnlock(const Event& event) {
    ThreadState& thread = ThreadOf(event);
    if (event.kind == EventKind::kLock) {
      if (thread.state.held.Acquire(NameOf(event.sync()), event.mode)) {
        detector_.OnLock(thread.state, SyncOf(event), event.mode);
      }
    } else if (thread.state.held.Release(NameOf(event.sync()), event.mode)) {
      detector_.OnUnlock(thread.state, SyncOf(event), event.mode);
    }
  }

  // A fresh Sync for each phase: a thread that is slow to leave must not learn what a fast one did after
  // leaving.
  void BarrierArrive(const Event& event) {
    ThreadState& thread = ThreadOf(event);
    Barrier& barrier = barriers_[event.sync()];
    if (barrier.phase == nullptr) barrier.phase = std::make_shared<Sync>(detector_);
    detector_.OnReleaseMerge(thread.state, *barrier.phase);
    thread.barrier_phase = barrier.phase;
    if (++barrier.arrived == event.size) barrier = Barrier{};
  }

  void BarrierLeave(const Event& event) {
    ThreadState& thread = ThreadOf(event);
    detector_.OnAcquire(thread.state, *thread.barrier_phase);
    thread.barrier_phase.reset();
  }

  // ---- Threads ----

  void Fork(const Event& event) {
    ThreadState& child = NewThread(event.child());
    detector_.OnFork(ThreadOf(event).state, child.state);
  }

  void Join(const Event& event) {
    ThreadState& child = *threads_[Raw(event.child())];
    if (!child.ended) End(child);
    detector_.OnJoin(ThreadOf(event).state, child.state);
    AddCounts(gone_counts_, child.state);
    threads_[Raw(event.child())].reset();
  }

  void End(ThreadState& thread) {
    detector_.OnEnd(thread.state);
    thread.ended = true;
  }

  static void AddCounts(Counts& total, const typename D::Thread& thread) {
    for (size_t i = 0; i < total.size(); ++i) total[i] += thread.counts[i];
  }

  // ---- Transactions ----

  void AddFootprint(const Event& event, AccessKind kind) {
    ThreadOf(event).footprint.push_back(Footprint{.addr = event.addr, .size = event.size, .kind = kind});
  }

  void Commit(const Event& event) {
    ThreadState& thread = ThreadOf(event);
    std::vector<Footprint>& footprint = thread.footprint;
    for (const Footprint& part : footprint) TakePublished(thread, part.addr, part.size, part.kind);
    detector_.OnCommitBegin(thread.state, footprint.data(), footprint.size());
    // All of it happens at one point, so the order is ours: writes first, because they conflict with more,
    // and a byte that is both read and written gets one report that names everybody.
    for (const AccessKind kind : {AccessKind::kWrite, AccessKind::kRead}) {
      for (const Footprint& part : footprint) {
        if (part.kind == kind) AccessRange(thread, part.addr, part.size, kind, AccessOrigin::kTransaction);
      }
    }
    detector_.OnCommitEnd(thread.state, footprint.data(), footprint.size());
    footprint.clear();
  }

  // ---- Lifetimes ----

  void BeginLifetime(const Event& event, AccessOrigin origin) {
    const auto stamp = detector_.OnLifetime(ThreadOf(event).state, event.addr, event.size, origin, Here());
    cells_.Renew(event.addr, event.size, stamp, origin == AccessOrigin::kFree);
    atomics_.Forget(event.addr, event.size);
    benign_.Remove(event.addr, event.size);
    published_.Remove(event.addr, event.size);
  }

  void Free(const Event& event) {
    ThreadState& thread = ThreadOf(event);
    TakePublished(thread, event.addr, event.size, AccessKind::kWrite);
    benign_.ForEachGap(event.addr, event.size, [&](Addr addr, uint64_t size) {
      cells_.Visit(addr, size,
                   [&](Cell& cell, Addr granule, ByteMask bytes, uint64_t granules, Addr object, uint64_t object_size) {
                     AccessCell(thread, cell,
                                Access{.granule = granule,
                                       .granules = granules,
                                       .object = object,
                                       .object_size = object_size,
                                       .bytes = bytes,
                                       .kind = AccessKind::kWrite,
                                       .origin = AccessOrigin::kFree,
                                       .context = Here()});
                   });
    });
    BeginLifetime(event, AccessOrigin::kFree);
  }

  // ---- Annotations ----

  // A publication is a signal of its own; whoever touches the bytes waits for it.
  void Publish(const Event& event) {
    std::shared_ptr<Sync>* again = published_.Find(event.addr, event.size);
    auto sync = again != nullptr ? *again : std::make_shared<Sync>(detector_);
    detector_.OnReleaseMerge(ThreadOf(event).state, *sync);
    if (again == nullptr) published_.Add(event.addr, event.size, std::move(sync));
  }

  void TakePublished(ThreadState& thread, Addr addr, uint64_t size, AccessKind kind) {
    if (IsIgnored(thread, kind)) return;
    published_.ForEach(addr, size,
                       [&](Addr, Addr, std::shared_ptr<Sync>& sync) { detector_.OnAcquire(thread.state, *sync); });
  }

  D detector_;  // first: everything below refers to it
  std::conditional_t<D::kMap == Map::kObject, ObjectMap<D>, CellMap<D>> cells_;
  AtomicTable<D> atomics_;
  std::vector<std::unique_ptr<ThreadState>> threads_;  // by Tid; null once joined
  std::vector<std::unique_ptr<Sync>> syncs_;           // by SyncId
  std::unordered_map<SyncId, SyncId> names_;           // of locks that are not known by their own id any more
  std::vector<SyncId> originals_;                      // by name, from kFirstRenamed on
  std::unordered_map<SyncId, Barrier> barriers_;
  IntervalList<int> benign_;
  IntervalList<std::shared_ptr<Sync>> published_;
  Counts gone_counts_{};
  std::vector<RaceRecord> races_;
  RaceRecord record_;
  uint64_t index_ = 0;
};

}  // namespace redflag
