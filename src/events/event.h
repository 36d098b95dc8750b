// The event stream: what a program did, one plain 32-byte struct an event. Front ends produce it, traces
// store it, detectors consume it (through an engine: the runtime online, offline/replay.h offline).
//
// The order of a stream is one interleaving that the program really took. An atomic load reads the value that
// the nearest earlier store or read-modify-write of the same address in the stream wrote.
//
// Plain data, in-process rules: no allocation, no exceptions, nothing of libstdc++ that has a symbol.
#pragma once

#include <cstdint>

#include "base/ids.h"

namespace redflag {

enum class EventKind : uint8_t {
  // Memory. addr, size.
  kRead,
  kWrite,
  kAtomicLoad,   // order; also a compare-exchange that failed, with its failure order
  kAtomicStore,  // order
  kAtomicRmw,    // order; a read-modify-write that wrote
  kFence,        // order; no address

  // Locks. sync, mode. Re-entrant: only the outermost pair orders anything.
  kLock,
  kUnlock,

  // Happens-before objects. sync. SIGNAL and WAIT of the ThreadSanitizer paper (4.1): every earlier signal
  // is ordered before the wait. Condition variables, semaphores, once flags, queues.
  kSignal,
  kWait,

  // A barrier of `size` parties. sync. Arrivals of one phase are ordered before the leaves of that phase
  // only.
  kBarrierArrive,
  kBarrierLeave,

  // Threads.
  kThreadFork,  // child
  kThreadJoin,  // child; a child that has not ended yet ends here
  kThreadEnd,
  kThreadName,  // text

  // Transactions (Goldilocks section 3). A footprint is collected by TxRead/TxWrite; all of it happens at the
  // TxCommit, which follows with no other event of this thread in between.
  kTxRead,   // addr, size
  kTxWrite,  // addr, size
  kTxCommit,

  // Memory lifetimes. addr, size. An alloc starts a lifetime and counts as its first write; a free is a last
  // write, and starts the lifetime "freed" with itself as first write.
  kAlloc,
  kFree,

  // Call stack. function; position is the call site.
  kFunctionEnter,
  kFunctionExit,

  // Dynamic annotations (ThreadSanitizer paper, section 5).
  kIgnoreReadsBegin,
  kIgnoreReadsEnd,
  kIgnoreWritesBegin,
  kIgnoreWritesEnd,
  kBenignRace,   // addr, size: reports on these bytes are not wanted
  kExpectRace,   // addr, size: a report on these bytes is wanted; for testing detectors
  kPublish,      // addr, size: this call is ordered before every later access to these bytes
  kUnpublish,    // addr, size: these bytes are this thread's own again: a new lifetime
  kNewMemory,    // addr, size: as kAlloc, from a custom allocator
  kPureHbMutex,  // sync: hybrid detectors take this lock's edges too
  kLockCreate,   // sync: whatever the object carried before is forgotten
  kLockDestroy,  // sync

  kForget,  // addr, size: pages that were mapped or unmapped: nothing was ever done to these bytes

  // The detector that watched the recorded run told a race, completed by the access before this event in the same thread. addr: the
  // granule; size: its racy bytes, a ByteMask. Says nothing to detectors.
  kTold,
};
inline constexpr int kEventKindCount = static_cast<int>(EventKind::kTold) + 1;

// The C++ memory orders; consume is acquire, as every compiler has it.
enum class MemoryOrder : uint8_t { kRelaxed, kAcquire, kRelease, kAcqRel, kSeqCst };

constexpr bool Acquires(MemoryOrder order) {
  return order == MemoryOrder::kAcquire || order == MemoryOrder::kAcqRel || order == MemoryOrder::kSeqCst;
}
constexpr bool Releases(MemoryOrder order) {
  return order == MemoryOrder::kRelease || order == MemoryOrder::kAcqRel || order == MemoryOrder::kSeqCst;
}

enum class LockMode : uint8_t { kExclusive, kShared };

// What else there is to say of an event.
enum class EventFlag : uint8_t {
  kNone = 0,
  kNotify =
      1,  // kSignal, kWait: a condition variable's, which orders nothing for detectors that take their order from locks
  kReplaces = 2,  // kSignal: what the object carried before is gone
  kOwn = 3,    // kLock, kUnlock: of the program's own making: it is held, and what it orders is up to atomic operations
  kCells = 4,  // kForget: of accesses only; objects that live there stay as they are
  kAround = 8,  // kBenignRace: of whatever has these bytes, since nobody said how large it is
};

// Locks, kSignal and kWait: with an address, the object is the one at that address, which atomic operations on the same address share
// (a guard variable, say); `sync` names it in sets of held locks. Without one, `sync` is all there is.
struct Event {
  EventKind kind;
  MemoryOrder order = MemoryOrder::kRelaxed;
  LockMode mode = LockMode::kExclusive;
  EventFlag flag = EventFlag::kNone;
  Tid thread{};
  PositionId position = kNoPosition;
  uint32_t object = 0;  // what it is depends on the kind: use the accessors
  Addr addr{};
  uint64_t size = 0;

  SyncId sync() const { return SyncId{object}; }
  Tid child() const { return Tid{object}; }
  FunctionId function() const { return FunctionId{object}; }
  TextId text() const { return TextId{object}; }

  static Event OnMemory(EventKind kind, Tid thread, Addr addr, uint64_t size,
                        MemoryOrder order = MemoryOrder::kRelaxed) {
    Event event{.kind = kind, .order = order, .thread = thread};
    event.addr = addr;
    event.size = size;
    return event;
  }
  static Event OnObject(EventKind kind, Tid thread, uint32_t object, LockMode mode = LockMode::kExclusive) {
    Event event{.kind = kind, .mode = mode, .thread = thread};
    event.object = object;
    return event;
  }
  static Event OnThread(EventKind kind, Tid thread, MemoryOrder order = MemoryOrder::kRelaxed) {
    return Event{.kind = kind, .order = order, .thread = thread};
  }
};
static_assert(sizeof(Event) == 32);

}  // namespace redflag
