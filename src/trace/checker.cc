#include "trace/checker.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace redflag {
namespace {

using Operand = TraceChecker::Operand;
using Problem = TraceChecker::Problem;

template <class... Args>
Problem Bad(Operand operand, fmt::format_string<Args...> format, Args&&... args) {
  return Problem{operand, fmt::format(format, std::forward<Args>(args)...)};
}

std::string_view Purpose(LockMode mode) { return mode == LockMode::kExclusive ? "writing" : "reading"; }

// As the text format writes it.
std::string Spell(Addr addr, uint64_t size) { return fmt::format("{:#x}:{}", Raw(addr), size); }

}  // namespace

void TraceChecker::AddInitialThread(Tid thread) { threads_.emplace(thread, Thread{}); }

bool TraceChecker::Holds(Tid thread, SyncId lock) const {
  auto found = locks_.find(lock);
  return found != locks_.end() && found->second.holders.contains(thread);
}

std::optional<uint64_t> TraceChecker::AllocatedBy(Addr addr) const {
  auto found = allocations_.find(addr);
  if (found == allocations_.end()) return std::nullopt;
  return found->second.event;
}

TraceChecker::Verdict TraceChecker::Check(const Event& event) {
  if (Raw(event.kind) >= kEventKindCount) return Bad(Operand::kVerb, "unknown event kind {}", Raw(event.kind));
  if (!FlagFits(event)) return Bad(Operand::kVerb, "an event of this kind cannot have the flag {}", Raw(event.flag));
  if (auto problem = CheckActs(event)) return problem;
  Thread& thread = threads_.find(event.thread)->second;
  if (auto problem = CheckBusy(event, thread)) return problem;
  if (auto problem = Apply(event, thread)) return problem;
  ++accepted_;
  return std::nullopt;
}

TraceChecker::Verdict TraceChecker::Apply(const Event& event, Thread& thread) {
  switch (event.kind) {
    case EventKind::kRead:
    case EventKind::kWrite:
    case EventKind::kBenignRace:
    case EventKind::kExpectRace:
    case EventKind::kPublish:
    case EventKind::kUnpublish:
    case EventKind::kForget:
      return CheckBytes(event);
    case EventKind::kTold:
      if (event.size - 1 < 255) return std::nullopt;
      return Bad(Operand::kMemory, "a race is told on some of the 8 bytes of a granule: a mask from 1 to 255, not {}",
                 event.size);
    case EventKind::kAtomicLoad:
    case EventKind::kAtomicStore:
    case EventKind::kAtomicRmw:
      if (auto problem = CheckBytes(event)) return problem;
      return CheckOrder(event);
    case EventKind::kFence:
      return CheckOrder(event);
    case EventKind::kLock:
      return ApplyLock(event, thread);
    case EventKind::kUnlock:
      return ApplyUnlock(event, thread);
    case EventKind::kSignal:
    case EventKind::kWait:
      if (auto problem = CheckClass(event, ObjectClass::kSignal)) return problem;
      Use(event, ObjectClass::kSignal);
      return std::nullopt;
    case EventKind::kBarrierArrive:
      return ApplyArrive(event, thread);
    case EventKind::kBarrierLeave:
      return ApplyLeave(event, thread);
    case EventKind::kThreadFork:
      return ApplyFork(event);
    case EventKind::kThreadJoin:
      return ApplyJoin(event);
    case EventKind::kThreadEnd:
      thread = Thread{.ended = true};
      return std::nullopt;
    case EventKind::kThreadName:
      return std::nullopt;
    case EventKind::kTxRead:
    case EventKind::kTxWrite:
      if (auto problem = CheckBytes(event)) return problem;
      thread.in_transaction = true;
      return std::nullopt;
    case EventKind::kTxCommit:
      return ApplyCommit(thread);
    case EventKind::kAlloc:
      return ApplyAlloc(event);
    case EventKind::kFree:
      return ApplyFree(event);
    case EventKind::kNewMemory:
      return CheckNewMemory(event);
    case EventKind::kFunctionEnter:
      if (thread.call_depth == kMaxCallDepth) {
        return Bad(Operand::kVerb, "thread {} is {} calls deep, the most that is allowed", NameOf(event.thread),
                   kMaxCallDepth);
      }
      ++thread.call_depth;
      return std::nullopt;
    case EventKind::kFunctionExit:
      if (thread.call_depth == 0) {
        return Bad(Operand::kVerb, "thread {} is in no function that it could exit", NameOf(event.thread));
      }
      --thread.call_depth;
      return std::nullopt;
    case EventKind::kIgnoreReadsBegin:
      ++thread.ignored_reads;
      return std::nullopt;
    case EventKind::kIgnoreReadsEnd:
      if (thread.ignored_reads == 0) {
        return Bad(Operand::kVerb, "thread {} ignores no reads that it could end", NameOf(event.thread));
      }
      --thread.ignored_reads;
      return std::nullopt;
    case EventKind::kIgnoreWritesBegin:
      ++thread.ignored_writes;
      return std::nullopt;
    case EventKind::kIgnoreWritesEnd:
      if (thread.ignored_writes == 0) {
        return Bad(Operand::kVerb, "thread {} ignores no writes that it could end", NameOf(event.thread));
      }
      --thread.ignored_writes;
      return std::nullopt;
    case EventKind::kPureHbMutex:
      if (auto problem = CheckClass(event, ObjectClass::kLock)) return problem;
      Use(event, ObjectClass::kLock);
      return std::nullopt;
    case EventKind::kLockCreate:
      return ApplyLockCreate(event);
    case EventKind::kLockDestroy:
      return ApplyLockDestroy(event);
  }
  return Bad(Operand::kVerb, "unknown event kind {}", Raw(event.kind));
}

TraceChecker::Verdict TraceChecker::CheckActs(const Event& event) const {
  auto found = threads_.find(event.thread);
  if (found == threads_.end()) {
    if (joined_.Contains(Raw(event.thread))) {
      return Bad(Operand::kThread, "thread {} has been joined", NameOf(event.thread));
    }
    return Bad(Operand::kThread, "thread {} does not exist: it is neither initial nor forked", NameOf(event.thread));
  }
  if (found->second.ended) return Bad(Operand::kThread, "thread {} has ended", NameOf(event.thread));
  return std::nullopt;
}

TraceChecker::Verdict TraceChecker::CheckBusy(const Event& event, const Thread& thread) const {
  if (thread.in_barrier && (event.kind != EventKind::kBarrierLeave || event.sync() != thread.barrier)) {
    return Bad(Operand::kVerb, "thread {} has arrived at {} and must leave it before it does anything else",
               NameOf(event.thread), NameOf(thread.barrier, "barrier"));
  }
  bool of_transaction =
      event.kind == EventKind::kTxRead || event.kind == EventKind::kTxWrite || event.kind == EventKind::kTxCommit;
  if (thread.in_transaction && !of_transaction) {
    return Bad(Operand::kVerb, "thread {} is in a transaction and must commit it before it does anything else",
               NameOf(event.thread));
  }
  return std::nullopt;
}

TraceChecker::Verdict TraceChecker::CheckBytes(const Event& event) const {
  switch (event.kind) {
    case EventKind::kAtomicLoad:
    case EventKind::kAtomicStore:
    case EventKind::kAtomicRmw:
      if (event.size != 1 && event.size != 2 && event.size != 4 && event.size != 8 && event.size != 16) {
        return Bad(Operand::kMemory, "an atomic access has 1, 2, 4, 8 or 16 bytes, not {}", event.size);
      }
      break;
    case EventKind::kRead:
    case EventKind::kWrite:
    case EventKind::kTxRead:
    case EventKind::kTxWrite:
      if (event.size < 1 || event.size > kMaxAccess) {
        return Bad(Operand::kMemory, "an access has 1 to {} bytes, not {}", kMaxAccess, event.size);
      }
      break;
    default:
      if (event.size < 1 || event.size > kMaxRange) {
        return Bad(Operand::kMemory, "a range of memory has 1 to {} bytes, not {}", kMaxRange, event.size);
      }
  }
  if (event.size > UINT64_MAX - Raw(event.addr)) {
    return Bad(Operand::kMemory, "{} goes past the end of the address space", Spell(event.addr, event.size));
  }
  return std::nullopt;
}

TraceChecker::Verdict TraceChecker::CheckOrder(const Event& event) const {
  if (event.order > MemoryOrder::kSeqCst) {
    return Bad(Operand::kOrder, "unknown memory order {}", Raw(event.order));
  }
  bool relaxed = event.order == MemoryOrder::kRelaxed;
  bool seq_cst = event.order == MemoryOrder::kSeqCst;
  if (event.kind == EventKind::kAtomicLoad && !relaxed && !seq_cst && event.order != MemoryOrder::kAcquire) {
    return Bad(Operand::kOrder, "a load is relaxed, acquire or seq_cst");
  }
  if (event.kind == EventKind::kAtomicStore && !relaxed && !seq_cst && event.order != MemoryOrder::kRelease) {
    return Bad(Operand::kOrder, "a store is relaxed, release or seq_cst");
  }
  if (event.kind == EventKind::kFence && relaxed) {
    return Bad(Operand::kOrder, "a relaxed fence does nothing: use acquire, release, acq_rel or seq_cst");
  }
  return std::nullopt;
}

TraceChecker::Verdict TraceChecker::CheckClass(const Event& event, ObjectClass object_class) const {
  static constexpr std::string_view kClassNames[] = {"lock", "signal", "barrier"};
  if (event.sync() == kNoSync) return Bad(Operand::kObject, "the event names no object");
  if (object_class == ObjectClass::kBarrier && event.addr != Addr{}) {
    return Bad(Operand::kObject, "{} shares no address with atomics: barriers cannot", NameOf(event.sync(), "barrier"));
  }
  auto found = objects_.find(event.sync());
  if (found == objects_.end()) return std::nullopt;
  const Object& object = found->second;
  if (object.object_class != object_class && !object.destroyed) {
    return Bad(Operand::kObject, "{} has been used as a {}, it cannot be a {}", NameOf(event.sync(), "object"),
               kClassNames[Raw(object.object_class)], kClassNames[Raw(object_class)]);
  }
  if (object.addr != event.addr) {
    return Bad(Operand::kObject, "{} was at address {:#x}, it cannot be at {:#x}", NameOf(event.sync(), "object"),
               Raw(object.addr), Raw(event.addr));
  }
  return std::nullopt;
}

void TraceChecker::Use(const Event& event, ObjectClass object_class) {
  objects_[event.sync()] = Object{.object_class = object_class, .addr = event.addr};
}

TraceChecker::Verdict TraceChecker::ApplyLock(const Event& event, Thread& thread) {
  if (auto problem = CheckClass(event, ObjectClass::kLock)) return problem;
  if (event.mode > LockMode::kShared) return Bad(Operand::kVerb, "unknown lock mode {}", Raw(event.mode));
  std::string_view purpose = Purpose(event.mode);
  auto found = locks_.find(event.sync());
  bool held = found != locks_.end();
  if (held && found->second.holders.contains(event.thread)) {
    Lock& lock = found->second;
    if (lock.mode != event.mode) {
      return Bad(Operand::kObject, "thread {} holds {} for {} and cannot take it for {} as well", NameOf(event.thread),
                 NameOf(event.sync(), "lock"), Purpose(lock.mode), purpose);
    }
    uint64_t& depth = lock.holders[event.thread];
    if (depth == kMaxLockDepth) {
      return Bad(Operand::kObject, "thread {} holds {} {} times, the most that is allowed", NameOf(event.thread),
                 NameOf(event.sync(), "lock"), kMaxLockDepth);
    }
    ++depth;
    return std::nullopt;
  }
  if (held && (event.mode == LockMode::kExclusive || found->second.mode == LockMode::kExclusive)) {
    return Bad(Operand::kObject, "{} cannot be taken for {}: it is {}", NameOf(event.sync(), "lock"), purpose,
               HolderOf(found->second));
  }
  if (thread.held_locks == kMaxHeldLocks) {
    return Bad(Operand::kObject, "thread {} holds {} locks, the most that is allowed", NameOf(event.thread),
               kMaxHeldLocks);
  }
  Use(event, ObjectClass::kLock);
  Lock& lock = locks_[event.sync()];
  lock.mode = event.mode;
  lock.holders.emplace(event.thread, 1);
  ++thread.held_locks;
  return std::nullopt;
}

TraceChecker::Verdict TraceChecker::ApplyUnlock(const Event& event, Thread& thread) {
  if (auto problem = CheckClass(event, ObjectClass::kLock)) return problem;
  if (event.mode > LockMode::kShared) return Bad(Operand::kVerb, "unknown lock mode {}", Raw(event.mode));
  auto found = locks_.find(event.sync());
  if (found == locks_.end()) {
    return Bad(Operand::kObject, "{} is not held by any thread", NameOf(event.sync(), "lock"));
  }
  Lock& lock = found->second;
  auto holder = lock.holders.find(event.thread);
  if (holder == lock.holders.end()) {
    return Bad(Operand::kObject, "{} is not held by {}: it is {}", NameOf(event.sync(), "lock"), NameOf(event.thread),
               HolderOf(lock));
  }
  if (lock.mode != event.mode) {
    return Bad(Operand::kObject, "thread {} holds {} for {}, not for {}", NameOf(event.thread),
               NameOf(event.sync(), "lock"), Purpose(lock.mode), Purpose(event.mode));
  }
  if (--holder->second > 0) return std::nullopt;
  --thread.held_locks;
  lock.holders.erase(holder);
  if (lock.holders.empty()) locks_.erase(found);
  return std::nullopt;
}

TraceChecker::Verdict TraceChecker::ApplyLockCreate(const Event& event) {
  if (auto problem = CheckClass(event, ObjectClass::kLock)) return problem;
  if (auto found = locks_.find(event.sync()); found != locks_.end()) {
    for (const auto& [holder, depth] : found->second.holders) {
      auto thread = threads_.find(holder);
      if (thread == threads_.end() || thread->second.ended) continue;
      return Bad(Operand::kObject, "{} cannot be created: it is held for {} by {}", NameOf(event.sync(), "lock"),
                 Purpose(found->second.mode), NameOf(holder));
    }
    locks_.erase(found);
  }
  Use(event, ObjectClass::kLock);
  return std::nullopt;
}

TraceChecker::Verdict TraceChecker::ApplyLockDestroy(const Event& event) {
  if (auto problem = CheckClass(event, ObjectClass::kLock)) return problem;
  if (auto found = locks_.find(event.sync()); found != locks_.end()) {
    return Bad(Operand::kObject, "{} cannot be destroyed: it is {}", NameOf(event.sync(), "lock"),
               HolderOf(found->second));
  }
  Use(event, ObjectClass::kLock);
  objects_[event.sync()].destroyed = true;
  return std::nullopt;
}

TraceChecker::Verdict TraceChecker::ApplyArrive(const Event& event, Thread& thread) {
  if (auto problem = CheckClass(event, ObjectClass::kBarrier)) return problem;
  if (event.size < 1 || event.size > kMaxBarrierParties) {
    return Bad(Operand::kObject, "{} has {} parties: 1 to {} are allowed", NameOf(event.sync(), "barrier"), event.size,
               kMaxBarrierParties);
  }
  auto found = barriers_.find(event.sync());
  if (found != barriers_.end() && found->second.parties != event.size) {
    return Bad(Operand::kObject, "{} has {} parties, not {}", NameOf(event.sync(), "barrier"), found->second.parties,
               event.size);
  }
  Use(event, ObjectClass::kBarrier);
  Barrier& barrier = barriers_[event.sync()];
  barrier.parties = event.size;
  thread.in_barrier = true;
  thread.barrier = event.sync();
  thread.barrier_phase = barrier.phase;
  if (++barrier.arrived == barrier.parties) {
    ++barrier.phase;
    barrier.arrived = 0;
  }
  return std::nullopt;
}

TraceChecker::Verdict TraceChecker::ApplyLeave(const Event& event, Thread& thread) {
  if (auto problem = CheckClass(event, ObjectClass::kBarrier)) return problem;
  if (!thread.in_barrier) {
    return Bad(Operand::kVerb, "thread {} has not arrived at {}", NameOf(event.thread),
               NameOf(event.sync(), "barrier"));
  }
  const Barrier& barrier = barriers_.find(event.sync())->second;
  if (barrier.parties != event.size) {
    return Bad(Operand::kObject, "{} has {} parties, not {}", NameOf(event.sync(), "barrier"), barrier.parties,
               event.size);
  }
  if (barrier.phase == thread.barrier_phase) {
    return Bad(Operand::kVerb, "thread {} cannot leave {}: {} of {} threads have arrived", NameOf(event.thread),
               NameOf(event.sync(), "barrier"), barrier.arrived, barrier.parties);
  }
  thread.in_barrier = false;
  return std::nullopt;
}

TraceChecker::Verdict TraceChecker::ApplyFork(const Event& event) {
  if (event.child() == event.thread) {
    return Bad(Operand::kObject, "thread {} cannot fork itself", NameOf(event.thread));
  }
  if (event.child() == kNoThread) return Bad(Operand::kObject, "the fork names no thread");
  if (threads_.contains(event.child()) || joined_.Contains(Raw(event.child()))) {
    return Bad(Operand::kObject, "thread {} exists already", NameOf(event.child()));
  }
  threads_.emplace(event.child(), Thread{});
  return std::nullopt;
}

TraceChecker::Verdict TraceChecker::ApplyJoin(const Event& event) {
  if (event.child() == event.thread) {
    return Bad(Operand::kObject, "thread {} cannot join itself", NameOf(event.thread));
  }
  if (joined_.Contains(Raw(event.child()))) {
    return Bad(Operand::kObject, "thread {} has been joined already", NameOf(event.child()));
  }
  auto child = threads_.find(event.child());
  if (child == threads_.end()) {
    return Bad(Operand::kObject, "thread {} does not exist: it is neither initial nor forked", NameOf(event.child()));
  }
  if (child->second.in_barrier) {
    return Bad(Operand::kObject, "thread {} cannot have ended: it has arrived at {} and not left it",
               NameOf(event.child()), NameOf(child->second.barrier, "barrier"));
  }
  if (child->second.in_transaction) {
    return Bad(Operand::kObject, "thread {} cannot have ended: it is in a transaction", NameOf(event.child()));
  }
  threads_.erase(child);
  joined_.Insert(Raw(event.child()), uint64_t{Raw(event.child())} + 1);
  return std::nullopt;
}

TraceChecker::Verdict TraceChecker::ApplyCommit(Thread& thread) {
  if (!thread.in_transaction) return Bad(Operand::kVerb, "the transaction is empty: it reads and writes nothing");
  thread.in_transaction = false;
  return std::nullopt;
}

TraceChecker::Verdict TraceChecker::ApplyAlloc(const Event& event) {
  if (auto problem = CheckBytes(event)) return problem;
  if (auto other = Overlapping(event.addr, event.size); other != allocations_.end()) {
    return Bad(Operand::kMemory, "{} overlaps the live allocation {}", Spell(event.addr, event.size),
               Spell(other->first, other->second.size));
  }
  allocations_.emplace(event.addr, Allocation{event.size, accepted_});
  return std::nullopt;
}

TraceChecker::Verdict TraceChecker::ApplyFree(const Event& event) {
  if (auto problem = CheckBytes(event)) return problem;
  auto found = allocations_.find(event.addr);
  if (found == allocations_.end()) {
    return Bad(Operand::kMemory, "no live allocation begins at {:#x}", Raw(event.addr));
  }
  if (found->second.size != event.size) {
    return Bad(Operand::kMemory, "the allocation at {:#x} has {} bytes, not {}", Raw(event.addr), found->second.size,
               event.size);
  }
  allocations_.erase(found);
  return std::nullopt;
}

TraceChecker::Verdict TraceChecker::CheckNewMemory(const Event& event) const {
  if (auto problem = CheckBytes(event)) return problem;
  auto other = Overlapping(event.addr, event.size);
  if (other == allocations_.end()) return std::nullopt;
  Addr end = event.addr + event.size;
  if (event.addr >= other->first && end <= other->first + other->second.size) return std::nullopt;
  return Bad(Operand::kMemory, "{} lies partly inside the live allocation {}", Spell(event.addr, event.size),
             Spell(other->first, other->second.size));
}

std::map<Addr, TraceChecker::Allocation>::const_iterator TraceChecker::Overlapping(Addr addr, uint64_t size) const {
  auto next = allocations_.lower_bound(addr + size);
  if (next == allocations_.begin()) return allocations_.end();
  auto last = std::prev(next);
  return last->first + last->second.size > addr ? last : allocations_.end();
}

std::string TraceChecker::NameOf(Tid thread) const {
  if (names_ != nullptr && Raw(thread) < names_->threads.size()) {
    return fmt::format("'{}'", names_->threads[Raw(thread)]);
  }
  return fmt::format("T{}", Raw(thread));
}

std::string TraceChecker::NameOf(SyncId sync, std::string_view what) const {
  if (names_ != nullptr && Raw(sync) < names_->syncs.size()) {
    return fmt::format("{} '{}'", what, names_->syncs[Raw(sync)].name);
  }
  return fmt::format("{} #{}", what, Raw(sync));
}

std::string TraceChecker::HolderOf(const Lock& lock) const {
  Tid holder = lock.holders.begin()->first;
  auto thread = threads_.find(holder);
  bool ended = thread == threads_.end() || thread->second.ended;
  return fmt::format("held for {} by {}{}", Purpose(lock.mode), NameOf(holder), ended ? ", which has ended" : "");
}

}  // namespace redflag
