// Locks, signals, fences and barriers: what each means to the detector, to the record of the run and to the thread, which
// has another label afterwards if the detector says so (Retag). Called by the thread that does it, inside the runtime;
// the object is locked meanwhile.
#include "clocks/packed_record.h"
#include "runtime/runtime.h"

namespace redflag::rt {

void Runtime::Label(Thread& t) {
  t.mode.locks_to_log = !t.locks.empty();
  t.now = PackedAccess(Detector::LabelOf(t.state), AccessKind{}, kNoBytes, kNoContext).word();
}

// Rare: the thread has used up its slot's times, or all times began anew while it was away.
void Runtime::Renew(Thread& t) {
  t.ForgetSeen();  // noted under times that no longer tell anything
  t.ForgetPlanes();
  t.is_stale = false;
  if (!detector_.NeedsRenewal(t.state)) return;
  detector_.Renew(t.state);
  if (CanStopAll() && detector_.slots().IsWorn()) Gate::Ask();
}

void Runtime::Retag(Thread& t) {
  if (t.is_stale || detector_.NeedsRenewal(t.state)) [[unlikely]]
    Renew(t);
  Label(t);
  const Epoch label = Detector::LabelOf(t.state);
  local.tag = TagOf(label);
  if (Recorder::is_on()) [[unlikely]] {
    local.tag = UINT64_MAX;  // nothing is redundant
    if (!t.mode.records) t.ForgetSeen();
    t.mode.records = true;
  }
  local.now = NowOf(kTimesRise ? TimeOf(label) : t.NextVisit());
  if (const Slot slot = SlotOf(label); slot != local.slot) [[unlikely]] {
    local.slot = slot;
    local.homes[0] = PackedRecord::HomeOffset(false, slot);
    local.homes[1] = PackedRecord::HomeOffset(true, slot);
  }
}

void Runtime::Lock(Thread& t, uint64_t lock, LockMode mode, int depth, uint64_t place) {
  if (t.mode.takes_lock) [[unlikely]]
    SettleLock(t, place);
  for (HeldAt& held : t.locks) {
    if (held.address == lock && held.mode == mode) {
      held.depth += static_cast<uint16_t>(depth);
      return;
    }
  }
  const ContextId taken_at = t.CallsAt(contexts_, place);
  t.SetChain(t.Child(contexts_, t.chain(), ContextTree::Held(taken_at)));
  t.locks.Push(HeldAt{
      .address = lock, .context = taken_at, .chain = t.chain(), .mode = mode, .depth = static_cast<uint16_t>(depth)});
  t.mode.locks_to_log = true;
  // The same context as in the chain: by it, whoever reads the record finds the place of each lock.
  if (Recorder::is_on()) [[unlikely]]
    Recorder::Prepare(t, contexts_, taken_at);
  SyncTable::Locked object(syncs_, lock);
  NoteSync(t, EventKind::kLock, *object, taken_at, mode);
  object->taken_at = taken_at;
  if (object->made_at == kNoContext) object->made_at = taken_at;
  if (mode == LockMode::kExclusive) {
    object->owner = t.state.tid;
  } else {
    ++object->readers;
  }
  t.locks[t.locks.size() - 1].name = object->name;
  if (kAsksForLocks) t.state.held.Acquire(object->name, mode);
  Changed(t, detector_.OnLock(t.state, object->sync, mode));
}

int Runtime::Unlock(Thread& t, uint64_t lock, LockMode mode, bool all, uint64_t place) {
  for (size_t i = t.locks.size(); i-- > 0;) {
    HeldAt& held = t.locks[i];
    if (held.address != lock || held.mode != mode) continue;
    if (held.is_own) [[unlikely]] {
      LetGoOfOwn(t, i);
      return 1;
    }
    const int given_up = all ? held.depth : 1;
    held.depth -= static_cast<uint16_t>(given_up);
    if (held.depth != 0) return given_up;
    if (kAsksForLocks) t.state.held.Release(held.name, mode);
    RemoveLock(t, i);
    SyncTable::Locked object(syncs_, lock);
    NoteSync(t, EventKind::kUnlock, *object, kNoContext, mode);
    if (mode == LockMode::kExclusive) {
      object->owner = kNoThread;
    } else if (object->readers != 0) {
      --object->readers;
    }
    HandedOn(t, detector_.OnUnlock(t.state, object->sync, mode), wire::Handover::kUnlock, lock, place);
    return given_up;
  }
  return 0;
}

LockMode Runtime::HeldMode(Thread& t, uint64_t lock) {
  for (const HeldAt& held : t.locks) {
    if (held.address == lock) return held.mode;
  }
  return LockMode::kExclusive;
}

void Runtime::Acquire(Thread& t, uint64_t object, EventFlag flag) {
  SyncTable::Locked locked(syncs_, object, SyncTable::Locked::kLook);
  if (!locked) return;
  NoteSync(t, EventKind::kWait, *locked, kNoContext, LockMode::kExclusive, flag);
  Changed(t, detector_.OnAcquire(t.state, locked->sync));
}

void Runtime::PureHbLock(Thread& t, uint64_t lock) {
  SyncTable::Locked locked(syncs_, lock);
  NoteSync(t, EventKind::kPureHbMutex, *locked);
  Changed(t, detector_.OnPureHbLock(t.state, locked->sync));
}

void Runtime::Release(Thread& t, uint64_t object, uint64_t place, EventFlag flag) {
  SyncTable::Locked locked(syncs_, object);
  NoteSync(t, EventKind::kSignal, *locked, kNoContext, LockMode::kExclusive, flag);
  HandedOn(t, detector_.OnReleaseMerge(t.state, locked->sync), wire::Handover::kSignal, object, place);
}

void Runtime::ReleaseStore(Thread& t, uint64_t object, uint64_t place) {
  SyncTable::Locked locked(syncs_, object);
  NoteSync(t, EventKind::kSignal, *locked, kNoContext, LockMode::kExclusive, EventFlag::kReplaces);
  HandedOn(t, detector_.OnReleaseStore(t.state, locked->sync), wire::Handover::kSignal, object, place);
}

void Runtime::FenceNow(Thread& t, MemoryOrder order, uint64_t place) {
  if (Recorder::is_on()) Recorder::Note(t, Event::OnThread(EventKind::kFence, t.state.tid, order));
  HandedOn(t, Fence(detector_, t.state, order), wire::Handover::kFence, 0, place);
}

void Runtime::ForgetSync(Thread& t, uint64_t addr) {
  if (Recorder::is_on() && syncs_.Peek(addr) != nullptr) {
    AddSync(t, EventKind::kLockDestroy, addr, syncs_.Peek(addr)->name, kNoContext, LockMode::kExclusive,
            EventFlag::kNone);
  }
  syncs_.Remove(addr, 1);
}

void Runtime::NoteCondition(Thread& t, EventKind kind, uint64_t condition) {
  if (Recorder::is_on()) {
    AddSync(t, kind, condition, SyncId{}, kNoContext, LockMode::kExclusive, EventFlag::kNotify);
  }
}

uint64_t Runtime::BarrierArrive(Thread& t, uint64_t barrier, uint32_t parties, uint64_t place) {
  SyncId name{};  // for the record: another one after ForgetBarrier
  if (Recorder::is_on()) name = SyncTable::Locked(syncs_, barrier)->name;
  return reinterpret_cast<uint64_t>(barriers_.Arrive(detector_, arena_, barrier, parties, [&](Barriers::Phase& phase) {
    phase.name = name;
    NoteBarrier(t, EventKind::kBarrierArrive, phase);
    HandedOn(t, detector_.OnReleaseMerge(t.state, phase.sync), wire::Handover::kBarrier, barrier, place);
  }));
}

void Runtime::BarrierLeave(Thread& t, uint64_t phase) {
  barriers_.Leave(detector_, arena_, reinterpret_cast<Barriers::Phase*>(phase), [&](Barriers::Phase& left) {
    NoteBarrier(t, EventKind::kBarrierLeave, left);
    Changed(t, detector_.OnAcquire(t.state, left.sync));
  });
}

void Runtime::ForgetBarrier(Thread& t, uint64_t barrier) {
  if (Recorder::is_on()) ForgetSync(t, barrier);
  barriers_.Forget(arena_, barrier);
}

}  // namespace redflag::rt
