// What is wrong besides races: locks that are unlocked while nobody holds them, destroyed while somebody does, taken twice; threads that
// nobody waits for; signal handlers that spoil errno. Each is told once for a place in the code.
//
// For locks of pthreads the interceptors ask the lock itself what it is; a lock that the program made, and tells of, is what it was told
// to be. Nothing is said while the thread's synchronization is ignored.
#include <sys/syscall.h>

#include "base/arch.h"
#include "base/hash_map.h"
#include "runtime/emit.h"
#include "runtime/environment.h"
#include "runtime/report_view.h"
#include "runtime/runtime.h"

namespace redflag::rt {
namespace {

constinit AtomicMem::Lock told_lock;
constexpr uint64_t kTold = 1024;
constinit uint64_t told[kTold] = {};  // a newcomer may push another one out, which is then told again

bool IsNews(wire::Flaw flaw, ContextId where) {
  const uint64_t key = HashKey(uint64_t{Raw(where)} << 8 | Raw(flaw)) | 1;
  ScopedLock guard(told_lock);
  uint64_t& place = told[key / 2 % kTold];
  if (place == key) return false;
  place = key;
  return true;
}

}  // namespace

void Runtime::LockMade(Thread& t, uint64_t lock, uint64_t place) {
  const ContextId made_at = t.CallsAt(contexts_, place);
  SyncTable::Locked object(syncs_, lock);
  object->made_at = made_at;
}

bool Runtime::FindLockFlaw(Thread& t, uint64_t lock, LockMode mode, bool locks, wire::Flaw& flaw) {
  SyncTable::Locked object(syncs_, lock, SyncTable::Locked::kLook);
  const Tid owner = object ? object->owner : kNoThread;
  const bool is_read = object && object->readers != 0;
  const bool is_exclusive = mode == LockMode::kExclusive;
  if (locks) {
    flaw = is_exclusive ? wire::Flaw::kDoubleLock : wire::Flaw::kReadLockOfWritten;
    return owner != kNoThread;
  }
  flaw = !is_exclusive && owner != kNoThread ? wire::Flaw::kReadUnlockOfWritten : wire::Flaw::kUnlockNotHeld;
  return is_exclusive ? owner != t.state.tid : owner != kNoThread || !is_read;
}

bool Runtime::IsHeld(uint64_t lock) {
  SyncTable::Locked object(syncs_, lock, SyncTable::Locked::kLook);
  return object && (object->owner != kNoThread || object->readers != 0);
}

ContextId Runtime::WhereMade(uint64_t lock) const {
  const SyncObject* object = syncs_.Peek(lock);
  return object == nullptr ? kNoContext : object->made_at;
}

void Runtime::LockIsStatic(uint64_t lock, bool is_static) {
  SyncTable::Locked object(syncs_, lock);
  (is_static ? object->is_static : object->is_not_static) = true;
}

bool Runtime::EndsLock(uint64_t lock, bool is_static, bool is_not_static) {
  SyncTable::Locked object(syncs_, lock, SyncTable::Locked::kLook);
  if (is_static || (object && object->is_static)) return false;
  return !is_not_static || (object && object->is_not_static);
}

void Runtime::Misused(Thread& t, uint64_t lock, wire::Flaw flaw, uint64_t place) {
  if (!flags_.report_bugs || !flags_.report_mutex_bugs || !is_watching()) return;
  if (flaw == wire::Flaw::kDestroyHeld && !flags_.report_destroy_locked) return;
  const ContextId where = t.CallsAt(contexts_, place);
  if (!IsNews(flaw, where)) return;
  Misuse misuse{.lock = lock, .thread = t.state.tid, .flaw = flaw, .where = where};
  {
    SyncTable::Locked object(syncs_, lock);
    if (flaw == wire::Flaw::kDestroyHeld) misuse.taken_at = object->taken_at;
    if (object->made_at == kNoContext) object->made_at = where;
    misuse.made_at = object->made_at;
  }
  Tell(misuse);
}

// Told once for the same locks, and for the same places.
void Runtime::MayDeadlock(Thread& t, const LockOrder::Cycle& cycle) {
  if (!flags_.report_bugs || !is_watching()) return;
  if (flags_.longest_deadlock > 0 && cycle.size() > static_cast<uint64_t>(flags_.longest_deadlock)) {
    return Complain("WARNING: too long mutex cycle found");
  }
  const OrderedLock& wanted = cycle[cycle.size() - 1].wanted;
  Tell({.lock = wanted.address,
        .thread = t.state.tid,
        .flaw = wire::Flaw::kLockOrder,
        .where = wanted.taken_at,
        .cycle = &cycle});
}

void Runtime::Misused(const Misuse& misuse) {
  if (!flags_.report_bugs || !is_watching()) return;
  const bool is_leak = misuse.flaw == wire::Flaw::kThreadLeak;
  if (IsNews(misuse.flaw, is_leak ? InfoOf(misuse.thread).created_at : misuse.where)) Tell(misuse);
}

// Threads that nobody waits for, or that forget something, are told of when they are at their end: the program is not ended for them.
void Runtime::Tell(const Misuse& misuse) {
  __atomic_fetch_add(&races_, 1, __ATOMIC_RELAXED);
  EmitMisuse(*this, misuse);
  TellProgram(*this, misuse);
  if (flags_.sync_reports || flags_.halt_on_error) FlushReports(flags_);
  const bool is_at_end = misuse.flaw == wire::Flaw::kThreadLeak || misuse.flaw == wire::Flaw::kEndsIgnoring;
  if (flags_.halt_on_error && !is_at_end) arch::Syscall(SYS_exit_group, FinishProcess(1));
}

}  // namespace redflag::rt
