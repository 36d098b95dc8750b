// Replay: the offline engine. Feeds a recorded stream of events into one detector, doing for it what the
// runtime does online (detectors/detector.h, "The engine").
//
// Of a text trace, a ContextId is the index of the event: it names the access exactly, costs nothing, and the call
// stack, the position and the place where a lock was taken are read off the trace when a report needs them. Of a
// recording, it is the calling context that was recorded.
//
// Several engines may share a trace, each as one shard (trace/shard.h).
//
// The stream should be well-formed (trace/checker.h). Recordings need not be: a thread may act that nobody forked, and
// may end or release what it never began or took; such an event means as much as it can, or nothing.
//
// One thread, host side.
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
#include "offline/benign_memory.h"
#include "offline/cell_map.h"
#include "offline/interval_list.h"
#include "offline/object_map.h"
#include "offline/renamed_locks.h"
#include "trace/event_stream.h"
#include "trace/shard.h"

namespace redflag {

struct ReplayOptions {
  Shard shard{};
  bool recorded = false;  // contexts are Event::position
};

template <Detector D>
class Replay {
 public:
  using Counts = std::array<uint64_t, std::size(D::kRules)>;

  // Threads that exist from the start; the others are forked, or exist when they first act.
  explicit Replay(const std::vector<Tid>& initial_threads, const ReplayOptions& options = {})
      : options_(options), cells_(detector_, options.shard), atomics_(detector_) {
    for (const Tid tid : initial_threads) StartThread(tid);
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

  // How often each rule was applied, over all threads. What is done for every address is counted by the first shard.
  Counts TotalCounts() const {
    Counts total = gone_counts_;
    for (const auto& thread : threads_) {
      if (thread != nullptr) AddCounts(total, thread->state);
    }
    for (const auto& [tid, thread] : far_threads_) {
      if (thread != nullptr) AddCounts(total, thread->state);
    }
    for (const auto& [tid, thread] : ended_) AddCounts(total, thread->state);
    return total;
  }

  // The lock of the trace that a lock in a record stands for.
  SyncId OriginalLock(SyncId lock) const { return names_.OriginalOf(lock); }

  // `index` is the event's place in the stream; for text traces it must fit the 32 bits of a ContextId.
  [[gnu::always_inline]] void Step(const Event& event, uint64_t index) {
    index_ = index;
    part_ = 0;
    context_ = options_.recorded ? RecordedContextOf(event) : ContextId(static_cast<uint32_t>(index));
    if (event.kind <= EventKind::kWrite) {
      PlainAccess(event);
    } else {
      OtherEvent(event);
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
  };

  struct Barrier {
    std::shared_ptr<Sync> phase;
    uint64_t arrived = 0;
  };

  static_assert(static_cast<int>(EventKind::kRead) == 0 && static_cast<int>(EventKind::kWrite) == 1);

  // All but plain accesses. Counted by the first shard, but for the accesses in it.
  [[gnu::noinline]] void OtherEvent(const Event& event) {
    ThreadState& thread = ThreadOf(event);
    if (options_.shard.IsFirst()) return Handle(thread, event);
    Counts counted = CountsOf(thread);
    accesses_counted_ = &counted;
    Handle(thread, event);
    accesses_counted_ = nullptr;
    std::copy(counted.begin(), counted.end(), thread.state.counts);
  }

  void Handle(ThreadState& thread, const Event& event) {
    switch (event.kind) {
      case EventKind::kRead:
      case EventKind::kWrite:
        return PlainAccess(event);
      case EventKind::kAtomicLoad:
      case EventKind::kAtomicStore:
      case EventKind::kAtomicRmw:
        return AtomicAccess(thread, event);
      case EventKind::kFence:
        Fence(detector_, thread.state, event.order);
        return;
      case EventKind::kLock:
      case EventKind::kUnlock:
        return LockOrUnlock(thread, event);
      case EventKind::kSignal:
        return Signal(thread, event);
      case EventKind::kWait:
        if (!IsLeftToLocks(event)) detector_.OnAcquire(thread.state, SyncOf(event));
        return;
      case EventKind::kBarrierArrive:
        return BarrierArrive(thread, event);
      case EventKind::kBarrierLeave:
        return BarrierLeave(thread);
      case EventKind::kThreadFork:
        return Fork(thread, event);
      case EventKind::kThreadJoin:
        return Join(thread, event);
      case EventKind::kThreadEnd:
        return End(event.thread);
      case EventKind::kTxRead:
        return AddFootprint(thread, event, AccessKind::kRead);
      case EventKind::kTxWrite:
        return AddFootprint(thread, event, AccessKind::kWrite);
      case EventKind::kTxCommit:
        return Commit(thread);
      case EventKind::kAlloc:
      case EventKind::kNewMemory:
      case EventKind::kUnpublish:
        if (event.size != 0) BeginLifetime(thread, event, AccessOrigin::kAlloc);
        return;
      case EventKind::kFree:
        if (event.size != 0) Free(thread, event);
        return;
      case EventKind::kForget:
        if (event.size != 0) ForgetBytes(thread, event);
        return;
      case EventKind::kIgnoreReadsBegin:
        ++thread.ignore_reads;
        return;
      case EventKind::kIgnoreReadsEnd:
        if (thread.ignore_reads != 0) --thread.ignore_reads;
        return;
      case EventKind::kIgnoreWritesBegin:
        ++thread.ignore_writes;
        return;
      case EventKind::kIgnoreWritesEnd:
        if (thread.ignore_writes != 0) --thread.ignore_writes;
        return;
      case EventKind::kBenignRace:
        benign_.Declare(event);
        return;
      case EventKind::kPublish:
        return Publish(thread, event);
      case EventKind::kPureHbMutex:
        detector_.OnPureHbLock(thread.state, SyncOf(event));
        return;
      case EventKind::kLockCreate:
      case EventKind::kLockDestroy:
        return RenewLock(event);
      case EventKind::kTold:
      case EventKind::kThreadName:
      case EventKind::kFunctionEnter:
      case EventKind::kFunctionExit:
      case EventKind::kExpectRace:
        return;  // for reports and tests: read off the trace
    }
  }

  // ---- Objects ----

  // Numbers up to here are indices; what is beyond makes little sense, and must not make large tables.
  static constexpr uint32_t kDense = 1u << 20;

  std::unique_ptr<ThreadState>& ThreadPlace(Tid tid) {
    if (Raw(tid) >= kDense) return far_threads_[Raw(tid)];
    if (threads_.size() <= Raw(tid)) threads_.resize(Raw(tid) + 1);
    return threads_[Raw(tid)];
  }
  ThreadState& StartThread(Tid tid) {
    std::unique_ptr<ThreadState>& place = ThreadPlace(tid);
    place = std::make_unique<ThreadState>(detector_, tid);
    detector_.OnStart(place->state);
    if (!options_.shard.IsFirst()) std::fill(std::begin(place->state.counts), std::end(place->state.counts), 0);
    return *place;
  }
  ThreadState& ThreadOf(const Event& event) {
    const uint32_t tid = Raw(event.thread);
    if (tid < threads_.size() && threads_[tid] != nullptr) [[likely]]
      return *threads_[tid];
    return Meet(event.thread);
  }
  // A thread that nobody was seen to fork.
  [[gnu::noinline]] ThreadState& Meet(Tid tid) {
    std::unique_ptr<ThreadState>& place = ThreadPlace(tid);
    return place != nullptr ? *place : StartThread(tid);
  }

  static Counts CountsOf(const ThreadState& thread) {
    Counts counts;
    std::copy_n(thread.state.counts, counts.size(), counts.begin());  // there may be room for more
    return counts;
  }

  std::unique_ptr<Sync>& SyncPlace(SyncId id) {
    if (Raw(id) >= kDense) return far_syncs_[id];
    if (syncs_.size() <= Raw(id)) syncs_.resize(Raw(id) + 1);
    return syncs_[Raw(id)];
  }
  // The object at an address is one with an atomic variable there.
  Sync& SyncOf(const Event& event) {
    if (Raw(event.addr) != 0) return atomics_.At(event.addr);
    std::unique_ptr<Sync>& place = SyncPlace(event.sync());
    if (place == nullptr) place = std::make_unique<Sync>(detector_);
    return *place;
  }

  // Names of objects at addresses are not used twice.
  void RenewLock(const Event& event) {
    if (Raw(event.addr) != 0) return atomics_.Forget(event.addr, 1);
    SyncPlace(event.sync()).reset();
    names_.Rename(event.sync());
  }

  // ---- Accesses ----

  [[gnu::always_inline]] void PlainAccess(const Event& event) {
    const AccessKind kind = event.kind == EventKind::kWrite ? AccessKind::kWrite : AccessKind::kRead;
    ThreadState& thread = ThreadOf(event);
    if (!published_.empty()) [[unlikely]] {
      const Counts before = CountsOf(thread);
      TakePublished(thread, event.addr, event.size, kind);
      if (!options_.shard.IsFirst()) std::copy(before.begin(), before.end(), thread.state.counts);
    }
    AccessRange(thread, event.addr, event.size, kind, AccessOrigin::kProgram);
  }

  void AtomicAccess(ThreadState& thread, const Event& event) {
    const AccessKind kind = event.kind == EventKind::kAtomicLoad ? AccessKind::kAtomicRead : AccessKind::kAtomicWrite;
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

  [[gnu::always_inline]] void AccessRange(ThreadState& thread, Addr addr, uint64_t size, AccessKind kind,
                                          AccessOrigin origin) {
    if (IsIgnored(thread, kind)) return;
    if (benign_.IsAround(addr, size)) [[unlikely]]
      return;
    if ((Raw(addr) & (kGranule - 1)) + size <= kGranule && size != 0) [[likely]] {
      AccessGranule(thread, GranuleOf(addr), MaskOf(addr, size), kind, origin);
      return;
    }
    AccessGranules(thread, addr, size, kind, origin);
  }

  [[gnu::noinline]] void AccessGranules(ThreadState& thread, Addr addr, uint64_t size, AccessKind kind,
                                        AccessOrigin origin) {
    ForEachGranule(addr, size,
                   [&](Addr granule, ByteMask bytes) { AccessGranule(thread, granule, bytes, kind, origin); });
  }

  [[gnu::always_inline]] void AccessGranule(ThreadState& thread, Addr granule, ByteMask bytes, AccessKind kind,
                                            AccessOrigin origin) {
    if (benign_.has_bytes()) [[unlikely]] {
      bytes = benign_.Without(granule, bytes);
      if (!Any(bytes)) return;
    }
    cells_.ForBytes(granule, bytes, [&](Cell& cell, ByteMask part, Addr object, uint64_t object_size) {
      if (!OwnsObject(object)) return;
      AccessCell(thread, cell,
                 Access{.granule = granule,
                        .granules = 1,
                        .object = object,
                        .object_size = object_size,
                        .bytes = part,
                        .kind = kind,
                        .origin = origin,
                        .context = context_});
    });
  }

  // Objects are dealt out to the shards by where they begin; all shards see the same ones, one after the other.
  bool OwnsObject(Addr object) {
    if constexpr (D::kMap != Map::kObject) return true;
    ++part_;
    return options_.shard.OwnsObject(object);
  }

  [[gnu::always_inline]] void AccessCell(ThreadState& thread, Cell& cell, const Access& access) {
    if (accesses_counted_ != nullptr) [[unlikely]]
      return AccessCellCounted(thread, cell, access);
    if (Any(detector_.OnAccess(thread.state, cell, access, record_))) [[unlikely]]
      KeepRace();
  }

  // In the midst of what is not counted.
  [[gnu::noinline]] void AccessCellCounted(ThreadState& thread, Cell& cell, const Access& access) {
    const Counts before = CountsOf(thread);
    if (Any(detector_.OnAccess(thread.state, cell, access, record_))) KeepRace();
    for (size_t i = 0; i < before.size(); ++i) (*accesses_counted_)[i] += thread.state.counts[i] - before[i];
  }

  [[gnu::noinline]] void KeepRace() {
    record_.event = index_;
    record_.part = part_;
    races_.push_back(record_);
  }

  // ---- Locks and barriers ----

  // Who takes order from locks learns nothing from a condition variable.
  static bool IsLeftToLocks(const Event& event) {
    return event.flag == EventFlag::kNotify && D::kClaim == Claim::kUnordered;
  }

  void Signal(ThreadState& thread, const Event& event) {
    if (IsLeftToLocks(event)) return;
    if (event.flag == EventFlag::kReplaces) {
      detector_.OnReleaseStore(thread.state, SyncOf(event));
    } else {
      detector_.OnReleaseMerge(thread.state, SyncOf(event));
    }
  }

  // A lock of the program's own making is held like any other. It orders what its atomic operations do, no more.
  static bool IsLeftToAtomics(const Event& event) {
    return event.flag == EventFlag::kOwn && D::kClaim == Claim::kUnordered;
  }

  void LockOrUnlock(ThreadState& thread, const Event& event) {
    if (event.kind == EventKind::kLock) {
      if (thread.state.held.Acquire(names_.Of(event.sync()), event.mode)) {
        if (!IsLeftToAtomics(event)) detector_.OnLock(thread.state, SyncOf(event), event.mode);
      }
    } else if (thread.state.held.Release(names_.Of(event.sync()), event.mode) && !IsLeftToAtomics(event)) {
      detector_.OnUnlock(thread.state, SyncOf(event), event.mode);
    }
  }

  // A fresh Sync for each phase: a thread that is slow to leave must not learn what a fast one did after
  // leaving.
  void BarrierArrive(ThreadState& thread, const Event& event) {
    Barrier& barrier = barriers_[event.sync()];
    if (barrier.phase == nullptr) barrier.phase = std::make_shared<Sync>(detector_);
    detector_.OnReleaseMerge(thread.state, *barrier.phase);
    thread.barrier_phase = barrier.phase;
    if (++barrier.arrived >= event.size) barrier = Barrier{};
  }

  void BarrierLeave(ThreadState& thread) {
    if (thread.barrier_phase == nullptr) return;
    detector_.OnAcquire(thread.state, *thread.barrier_phase);
    thread.barrier_phase.reset();
  }

  // ---- Threads ----

  void Fork(ThreadState& thread, const Event& event) {
    std::unique_ptr<ThreadState>& place = ThreadPlace(event.child());
    if (place != nullptr) return;  // it was there before
    place = std::make_unique<ThreadState>(detector_, event.child());
    detector_.OnFork(thread.state, place->state);
  }

  void Join(ThreadState& thread, const Event& event) {
    if (event.child() == event.thread) return;
    if (!ended_.contains(event.child())) {
      if (ThreadPlace(event.child()) == nullptr) return;
      End(event.child());
    }
    const auto child = ended_.find(event.child());
    detector_.OnJoin(thread.state, child->second->state);
    AddCounts(gone_counts_, child->second->state);
    ended_.erase(child);
  }

  // Whoever acts after its end is another thread.
  void End(Tid tid) {
    std::unique_ptr<ThreadState>& place = ThreadPlace(tid);
    const Counts before = CountsOf(*place);
    detector_.OnEnd(place->state);
    if (!options_.shard.IsFirst()) std::copy(before.begin(), before.end(), place->state.counts);
    std::unique_ptr<ThreadState>& ended = ended_[tid];
    if (ended != nullptr) AddCounts(gone_counts_, ended->state);
    ended = std::move(place);
  }

  static void AddCounts(Counts& total, const typename D::Thread& thread) {
    for (size_t i = 0; i < total.size(); ++i) total[i] += thread.counts[i];
  }

  // ---- Transactions ----

  static void AddFootprint(ThreadState& thread, const Event& event, AccessKind kind) {
    thread.footprint.push_back(Footprint{.addr = event.addr, .size = event.size, .kind = kind});
  }

  void Commit(ThreadState& thread) {
    std::vector<Footprint>& footprint = thread.footprint;
    for (const Footprint& part : footprint) TakePublished(thread, part.addr, part.size, part.kind);
    detector_.OnCommitBegin(thread.state, footprint.data(), footprint.size());
    // All of it happens at one point, so the order is ours: writes first, because they conflict with more,
    // and a byte that is both read and written gets one report that names everybody.
    for (const AccessKind kind : {AccessKind::kWrite, AccessKind::kRead}) {
      for (const Footprint& part : footprint) {
        if (part.kind != kind) continue;
        ++part_;
        AccessRange(thread, part.addr, part.size, kind, AccessOrigin::kTransaction);
      }
    }
    detector_.OnCommitEnd(thread.state, footprint.data(), footprint.size());
    footprint.clear();
  }

  // ---- Lifetimes ----

  void BeginLifetime(ThreadState& thread, const Event& event, AccessOrigin origin) {
    const auto stamp = detector_.OnLifetime(thread.state, event.addr, event.size, origin, context_);
    cells_.Renew(event.addr, event.size, stamp, origin == AccessOrigin::kFree);
    ForgetObjects(event);
  }

  // As if nobody had ever touched them: a lifetime without a first write.
  void ForgetBytes(ThreadState& thread, const Event& event) {
    detector_.OnLifetime(thread.state, event.addr, event.size, AccessOrigin::kAlloc, context_);
    cells_.Forget(event.addr, event.size);
    if (event.flag != EventFlag::kCells) ForgetObjects(event);
  }

  void ForgetObjects(const Event& event) {
    atomics_.Forget(event.addr, event.size);
    benign_.Forget(event.addr, event.size);
    published_.Remove(event.addr, event.size);
  }

  void Free(ThreadState& thread, const Event& event) {
    TakePublished(thread, event.addr, event.size, AccessKind::kWrite);
    benign_.ForEachGap(event.addr, event.size, [&](Addr addr, uint64_t size) {
      cells_.Visit(addr, size,
                   [&](Cell& cell, Addr granule, ByteMask bytes, uint64_t granules, Addr object, uint64_t object_size) {
                     if (!OwnsObject(object)) return;
                     FreeCell(thread, cell,
                              Access{.granule = granule,
                                     .granules = granules,
                                     .object = object,
                                     .object_size = object_size,
                                     .bytes = bytes,
                                     .kind = AccessKind::kWrite,
                                     .origin = AccessOrigin::kFree,
                                     .context = context_});
                   });
    });
    BeginLifetime(thread, event, AccessOrigin::kFree);
  }

  // All shards see the free of untouched memory, because it may end in lines of another one; the owner of its first granule tells of it.
  void FreeCell(ThreadState& thread, Cell& cell, const Access& access) {
    if constexpr (D::kMap == Map::kGranule) {
      if (!cells_.Owns(access.granule)) {
        const Counts before = CountsOf(thread);
        detector_.OnAccess(thread.state, cell, access, record_);
        std::copy(before.begin(), before.end(), thread.state.counts);
        return;
      }
    }
    AccessCell(thread, cell, access);
  }

  // ---- Annotations ----

  // A publication is a signal of its own; whoever touches the bytes waits for it.
  void Publish(ThreadState& thread, const Event& event) {
    std::shared_ptr<Sync>* again = published_.Find(event.addr, event.size);
    auto sync = again != nullptr ? *again : std::make_shared<Sync>(detector_);
    detector_.OnReleaseMerge(thread.state, *sync);
    if (again == nullptr) published_.Add(event.addr, event.size, std::move(sync));
  }

  void TakePublished(ThreadState& thread, Addr addr, uint64_t size, AccessKind kind) {
    if (IsIgnored(thread, kind)) return;
    published_.ForEach(addr, size,
                       [&](Addr, Addr, std::shared_ptr<Sync>& sync) { detector_.OnAcquire(thread.state, *sync); });
  }

  const ReplayOptions options_;
  D detector_;  // before everything that refers to it
  std::conditional_t<D::kMap == Map::kObject, ObjectMap<D>, CellMap<D>> cells_;
  AtomicTable<D> atomics_;
  std::vector<std::unique_ptr<ThreadState>> threads_;  // by Tid; null once ended
  std::unordered_map<uint32_t, std::unique_ptr<ThreadState>> far_threads_;
  std::unordered_map<Tid, std::unique_ptr<ThreadState>> ended_;  // and not joined
  std::vector<std::unique_ptr<Sync>> syncs_;                     // by SyncId
  std::unordered_map<SyncId, std::unique_ptr<Sync>> far_syncs_;
  RenamedLocks names_;
  std::unordered_map<SyncId, Barrier> barriers_;
  BenignMemory benign_;
  IntervalList<std::shared_ptr<Sync>> published_;
  Counts gone_counts_{};
  std::vector<RaceRecord> races_;
  RaceRecord record_;
  Counts* accesses_counted_ = nullptr;  // not null: only accesses are counted, here
  uint64_t index_ = 0;
  uint32_t part_ = 0;
  ContextId context_ = kNoContext;
};

}  // namespace redflag
