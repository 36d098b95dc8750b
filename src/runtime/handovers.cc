// Why does a thread know nothing of an access? For reports: what SyncLog (sync_log.h) remembers, held against what the thread's clock says; and of
// detectors that know owners (Goldilocks), who these were. In the thread that reports the race.
#include "detectors/race_owners.h"
#include "runtime/runtime.h"

namespace redflag::rt {
namespace {

// The latest time of a slot that a thread knows.
template <class D>
Time KnownTime(const typename D::Thread& state, Slot slot) {
  if constexpr (kGoesByOrder) {
    return D::ClockOf(state).clock().Get(slot);
  } else {
    return kNever;
  }
}

// Of detectors that know the owners of an access: those that the thread has noted when it met the race, or those that can be found now.
template <class D>
bool OwnersOf(D& detector, typename D::Thread& state, const AccessRecord& earlier, RaceOwners& found) {
  if constexpr (requires { state.owners_at_race; }) {
    found = state.owners_at_race;
    return true;
  } else if constexpr (requires { detector.FindOwners(state, earlier.thread, Epoch{}, found); }) {
    return detector.FindOwners(state, earlier.thread, Epoch{earlier.label}, found);
  } else {
    return false;
  }
}

// As reports have it. False: it is gone.
template <class Syncs>
bool Translate(const Syncs& syncs, Element element, wire::OwnerKind& kind, uint64_t& object) {
  if (IsOfThread(element)) {
    kind = wire::OwnerKind::kThread;
    object = IdOf(element);
    return true;
  }
  if (KindOf(element) == ElementKind::kCommit) {
    kind = wire::OwnerKind::kTransaction;
    object = 0;
    return true;
  }
  kind = KindOf(element) == ElementKind::kCarried     ? wire::OwnerKind::kSignal
         : KindOf(element) == ElementKind::kExclusive ? wire::OwnerKind::kLock
                                                      : wire::OwnerKind::kWriteLock;
  object = syncs.FindAddress([&](const auto& sync) {
    if constexpr (requires { sync.element(ElementKind{}); }) {
      return sync.element(KindOf(element)) == element;
    } else {
      return false;
    }
  });
  return object != 0;
}

}  // namespace

uint32_t Runtime::FindOwners(Thread& t, const AccessRecord& earlier, wire::Owner (&owners)[wire::kMaxOwners],
                             uint32_t& more) {
  RaceOwners found;
  more = 0;
  if (!OwnersOf(detector_, t.state, earlier, found)) return 0;
  uint32_t count = 0;
  more = found.more;
  for (uint32_t i = 0; i < found.count; ++i) {
    wire::Owner& owner = owners[count];
    owner = {};
    if (!Translate(syncs_, found.elements[i], owner.kind, owner.object)) {
      ++more;
      continue;
    }
    ++count;
    const bool has_giver =
        found.givers[i] != kNoElement && Translate(syncs_, found.givers[i], owner.giver_kind, owner.giver);
    owner.has_giver = has_giver ? 1 : 0;
  }
  return count;
}

// Times of a slot only rise, and the thread knows those up to the one that was handed on to it. Before its tenancy the slot was
// somebody else's.
bool Runtime::FindKnown(Thread& t, const AccessRecord& earlier, wire::Known& known) {
  known = {};
  if constexpr (kGoesByOrder) {
    const Slot slot = SlotOf(Epoch{earlier.label});
    if (detector_.slots().IsShared(slot)) return false;
    const Time time = KnownTime<Detector>(t.state, slot);
    known.how = wire::Handover::kNothing;
    if (time == kNever || detector_.slots().OwnerOf(MakeEpoch(slot, time)) != earlier.thread) return true;
    SyncLog::Handed handed{};
    known.how = wire::Handover::kForgotten;
    if (!sync_logs_[Raw(slot)].FindHanded(time, handed)) return true;
    known.how = handed.how;
    known.object = handed.object;
    known.place = handed.place;
    known.caller = handed.caller;
    return true;
  }
  return false;
}

bool Runtime::FindWeak(Thread& t, const AccessRecord& earlier, wire::Weak& weak) {
  weak = {};
  bool found = false;
  if constexpr (kGoesByOrder) {
    const SyncLog& theirs = sync_logs_[Raw(SlotOf(Epoch{earlier.label}))];
    const Time since = TimeOf(Epoch{earlier.label});
    // Several may fit: one of them is told.
    sync_logs_[Raw(PackedAccess(t.now).slot())].ForEachAtomic([&](const SyncLog::Atomic& load) {
      if (load.stores) return;
      const auto take = [&](uint64_t place, MemoryOrder order) {
        weak = {.object = load.object,
                .store_place = place,
                .load_place = load.place,
                .store_order = Raw(order),
                .load_order = Raw(load.order),
                .reserved = {}};
        found = true;
      };
      theirs.ForEachAtomic([&](const SyncLog::Atomic& store) {
        if (store.stores && store.object == load.object && store.time >= since) take(store.place, store.order);
      });
      if (Acquires(load.order)) return;
      theirs.ForEachHanded(since, [&](Time, const SyncLog::Handed& handed) {
        if (handed.how == wire::Handover::kStore && handed.object == load.object) {
          take(handed.place, MemoryOrder::kRelease);
        }
      });
    });
  }
  return found;
}

}  // namespace redflag::rt
