// Why does a thread know nothing of an access? For reports: what SyncLog (sync_log.h) remembers, held against what the thread's clock says; and of
// detectors that keep sets of owners, who these were at the race, which the thread has noted. In the thread that reports the race.
#include "clocks/sync_event_list.h"
#include "runtime/runtime.h"

namespace redflag::rt {
namespace {

// The latest time of a slot that a thread knows.
template <class D>
Time KnownTime(const typename D::Thread& state, Slot slot) {
  if constexpr (kHasPlanes) {
    return D::ClockOf(state).clock().Get(slot);
  } else {
    return kNever;
  }
}

// For detectors that keep sets of owners.
template <class State>
uint32_t OwnersOf(const State& state, const SyncTable& syncs, wire::Owner (&owners)[wire::kMaxOwners], uint32_t& more) {
  uint32_t count = 0;
  more = 0;
  if constexpr (requires { state.owners_at_race; }) {
    const auto& race = state.owners_at_race;
    more = race.more;
    for (uint32_t i = 0; i < race.count && count < wire::kMaxOwners; ++i) {
      const ElementKind kind = KindOf(race.elements[i]);
      wire::Owner owner{};
      if (kind == ElementKind::kThread) {
        owner = {.object = IdOf(race.elements[i]), .kind = wire::OwnerKind::kThread, .reserved = {}};
      } else if (kind == ElementKind::kCommit) {
        owner = {.object = 0, .kind = wire::OwnerKind::kTransaction, .reserved = {}};
      } else if (IsOfThread(race.elements[i])) {
        continue;  // its fences
      } else {
        owner.kind = kind == ElementKind::kCarried     ? wire::OwnerKind::kSignal
                     : kind == ElementKind::kExclusive ? wire::OwnerKind::kLock
                                                       : wire::OwnerKind::kWriteLock;
        owner.object = syncs.FindAddress([&](const auto& sync) { return sync.element(kind) == race.elements[i]; });
        if (owner.object == 0) {  // it is gone
          ++more;
          continue;
        }
      }
      owners[count++] = owner;
    }
  }
  return count;
}

}  // namespace

uint32_t Runtime::FindOwners(Thread& t, wire::Owner (&owners)[wire::kMaxOwners], uint32_t& more) {
  return OwnersOf(t.state, syncs_, owners, more);
}

// Times of a slot only rise, and the thread knows those up to the one that was handed on to it. Before its tenancy the slot was
// somebody else's.
bool Runtime::FindKnown(Thread& t, const AccessRecord& earlier, wire::Known& known) {
  known = {};
  if constexpr (kHasPlanes) {
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
  if constexpr (kHasPlanes) {
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
