// SyncLog: what the owner of a slot did last to be understood by others, for reports: through what it handed on what it knew at the end of each
// of its times; and atomic operations that handed nothing on, being too weak. Of both the latest only: what is forgotten is told as
// such.
//
// Written by the thread that owns the slot; read by whoever reports a race. An entry that changes meanwhile is not found.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "clocks/epoch.h"
#include "events/event.h"
#include "events/wire.h"

namespace redflag::rt {

class SyncLog {
 public:
  struct Handed {
    wire::Handover how;
    uint64_t object;
    uint64_t place;
    uint64_t caller;  // of the function
  };
  struct Atomic {
    uint64_t object;
    uint64_t place;
    MemoryOrder order;
    bool stores;
    Time time;
  };

  // The thread has handed on what it knew at `time`, its latest.
  void AddHanded(Time time, wire::Handover how, uint64_t object, uint64_t place, uint64_t caller) {
    Entry& entry = pages().handed[Raw(time) % kHanded];
    entry.Fill(Raw(time) << 8 | Raw(how), object, place, caller);
  }
  // False: forgotten.
  bool FindHanded(Time time, Handed& found) const {
    const Pages* pages = __atomic_load_n(&pages_, __ATOMIC_ACQUIRE);
    uint64_t label = 0;
    if (pages == nullptr || !pages->handed[Raw(time) % kHanded].Read(label, found.object, found.place, found.caller)) {
      return false;
    }
    found.how = wire::Handover{static_cast<uint8_t>(label)};
    return label >> 8 == Raw(time);
  }

  // An atomic load or store, of `order`, of an object. One and the same again and again counts once.
  void AddAtomic(Time time, uint64_t object, uint64_t place, MemoryOrder order, bool stores) {
    Entry& entry = pages().atomics[object / 8 % kAtomics][stores ? 1 : 0];
    entry.Fill(Raw(time) << 8 | Raw(order), object, place, 0);
  }
  // Calls visit(Atomic) for those that are remembered.
  template <class Visitor>
  void ForEachAtomic(Visitor visit) const {
    const Pages* pages = __atomic_load_n(&pages_, __ATOMIC_ACQUIRE);
    if (pages == nullptr) return;
    for (const auto& both : pages->atomics) {
      for (const Entry& entry : both) {
        Atomic atomic{};
        uint64_t label = 0;
        uint64_t caller = 0;
        if (!entry.Read(label, atomic.object, atomic.place, caller)) continue;
        atomic.order = MemoryOrder{static_cast<uint8_t>(label)};
        atomic.stores = &entry == &both[1];
        atomic.time = Time{label >> 8};
        visit(atomic);
      }
    }
  }
  // Calls visit(time, Handed) for what is remembered of `from` and later times.
  template <class Visitor>
  void ForEachHanded(Time from, Visitor visit) const {
    const Pages* pages = __atomic_load_n(&pages_, __ATOMIC_ACQUIRE);
    if (pages == nullptr) return;
    for (const Entry& entry : pages->handed) {
      Handed handed{};
      uint64_t label = 0;
      if (!entry.Read(label, handed.object, handed.place, handed.caller) || label >> 8 < Raw(from)) continue;
      handed.how = wire::Handover{static_cast<uint8_t>(label)};
      visit(Time{label >> 8}, handed);
    }
  }

  // Nobody reads or writes meanwhile.
  void Clear() {
    if (pages_ != nullptr) ForgetPages(pages_, sizeof(Pages));
  }

 private:
  static constexpr uint32_t kHanded = 256;
  static constexpr uint32_t kAtomics = 16;

  class Entry {
   public:
    void Fill(uint64_t label, uint64_t object, uint64_t place, uint64_t caller) {
      __atomic_store_n(&label_, 0, __ATOMIC_RELAXED);
      __atomic_thread_fence(__ATOMIC_RELEASE);
      __atomic_store_n(&object_, object, __ATOMIC_RELAXED);
      __atomic_store_n(&place_, place, __ATOMIC_RELAXED);
      __atomic_store_n(&caller_, caller, __ATOMIC_RELAXED);
      __atomic_store_n(&label_, label, __ATOMIC_RELEASE);
    }
    bool Read(uint64_t& label, uint64_t& object, uint64_t& place, uint64_t& caller) const {
      label = __atomic_load_n(&label_, __ATOMIC_ACQUIRE);
      object = __atomic_load_n(&object_, __ATOMIC_RELAXED);
      place = __atomic_load_n(&place_, __ATOMIC_RELAXED);
      caller = __atomic_load_n(&caller_, __ATOMIC_RELAXED);
      __atomic_thread_fence(__ATOMIC_ACQUIRE);
      return label != 0 && __atomic_load_n(&label_, __ATOMIC_RELAXED) == label;
    }

   private:
    uint64_t label_;  // a time, and what it was below; 0: nothing, or it changes
    uint64_t object_;
    uint64_t place_;
    uint64_t caller_;
  };
  struct Pages {
    Entry handed[kHanded];  // by time
    Entry atomics[kAtomics][2];
  };

  Pages& pages() {
    if (pages_ == nullptr) __atomic_store_n(&pages_, static_cast<Pages*>(MapPages(sizeof(Pages))), __ATOMIC_RELEASE);
    return *pages_;
  }

  Pages* pages_ = nullptr;
};

}  // namespace redflag::rt
