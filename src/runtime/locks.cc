// Locks that threads hold: what is kept of them for detectors that ask, and for reports.
#include "events/wire.h"
#include "runtime/runtime.h"

namespace redflag::rt {
namespace {

// A lock of the program's own making is held like any other. It orders what its atomic operations do, no more.
bool IsLeftToAtomics(const HeldAt& held) { return held.is_own && Detector::kClaim == Claim::kUnordered; }

}  // namespace

void Runtime::Lock(Thread& t, uint64_t lock, LockMode mode, int depth, uint64_t place) {
  if (t.mode.takes_lock) SettleLock(t, place);
  for (HeldAt& held : t.locks) {
    if (held.address == lock && held.mode == mode) {
      held.depth += static_cast<uint16_t>(depth);
      return;
    }
  }
  const ContextId taken_at = t.CallsAt(contexts_, place);
  Hold(t, HeldAt{.address = lock,
                 .context = taken_at,
                 .chain = kNoContext,
                 .mode = mode,
                 .depth = static_cast<uint16_t>(depth)});
}

// The chain is made here.
void Runtime::Hold(Thread& t, const HeldAt& lock) {
  t.SetChain(t.Child(contexts_, t.chain(), ContextTree::Held(lock.context)));
  t.locks.Push(lock);
  HeldAt& held = t.locks[t.locks.size() - 1];
  held.chain = t.chain();
  t.mode.locks_to_log = true;
  // The same context as in the chain: by it, whoever reads the record finds the place of each lock.
  if (Recorder::is_on()) [[unlikely]]
    Recorder::Prepare(t, contexts_, held.context);
  SyncTable::Locked object(syncs_, held.address);
  NoteSync(t, EventKind::kLock, *object, held.context, held.mode, EventFlagOf(held));
  if (kAsksForLocks) {
    held.name = object->name;
    t.state.held.Acquire(object->name, held.mode);
  }
  if (!IsLeftToAtomics(held)) Changed(t, detector_.OnLock(t.state, object->sync, held.mode));
}

int Runtime::Unlock(Thread& t, uint64_t lock, LockMode mode, bool all, uint64_t place) {
  if (t.mode.takes_lock) SettleLock(t, place);
  for (size_t i = t.locks.size(); i-- > 0;) {
    HeldAt& held = t.locks[i];
    if (held.address != lock || held.mode != mode) continue;
    const int given_up = all ? held.depth : 1;
    held.depth -= static_cast<uint16_t>(given_up);
    if (held.depth != 0) return given_up;
    LetGo(t, i, place);
    return given_up;
  }
  return 0;
}

void Runtime::LetGo(Thread& t, size_t index, uint64_t place) {
  const HeldAt held = t.locks[index];
  if (kAsksForLocks) t.state.held.Release(held.name, held.mode);
  t.locks.Remove(index);
  for (size_t i = index; i < t.locks.size(); ++i) {
    const ContextId rest = i == 0 ? kNoContext : t.locks[i - 1].chain;
    t.locks[i].chain = t.Child(contexts_, rest, ContextTree::Held(t.locks[i].context));
  }
  t.SetChain(t.locks.empty() ? kNoContext : t.locks[t.locks.size() - 1].chain);
  t.mode.locks_to_log = !t.locks.empty();
  SyncTable::Locked object(syncs_, held.address);
  NoteSync(t, EventKind::kUnlock, *object, kNoContext, held.mode, EventFlagOf(held));
  if (IsLeftToAtomics(held)) return;
  HandedOn(t, detector_.OnUnlock(t.state, object->sync, held.mode), wire::Handover::kUnlock, held.address, place);
}

LockMode Runtime::HeldMode(Thread& t, uint64_t lock) {
  for (const HeldAt& held : t.locks) {
    if (held.address == lock) return held.mode;
  }
  return LockMode::kExclusive;
}

// The log must tell the locks of every access that is recorded.
void Runtime::LogLocks(Thread& t) {
  const auto count = static_cast<uint32_t>(t.locks.size());
  if (kIsBoxed) {
    if (count != 0) lock_names_.Add(t.state.held.id(), t.locks.begin(), count);  // unlocking need not change a label
  } else {
    const Epoch now = Detector::LabelOf(t.state);
    logs_[Raw(SlotOf(now)) % PackedAccess::kMaxSlots].Add(TimeOf(now), t.locks.begin(), count);
  }
  t.mode.locks_to_log = false;
}

bool Runtime::FindLocks(const AccessRecord& access, ContextId chain, LockLog::Entry& found) {
  if (kIsBoxed) return lock_names_.Find(access.locks, chain, found);
  const Epoch label{access.label};
  return logs_[Raw(SlotOf(label))].Find(TimeOf(label), chain, found);
}

}  // namespace redflag::rt
