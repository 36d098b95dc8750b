// FilePlaces: a number for each file that data is handed on through, so that each has an object of its own. There are as many as kPlaces; when a file finds all of its kWays places
// taken, it takes over the one that was not used for longest. What was handed on through that is then taken for handed on through this one, which can hide a race. If the other is still
// in use it has a new place the next time, and what was handed on through it and not yet taken is forgotten: with many more than kPlaces files at once that can invent one.
//
// Any thread asks, also in a signal handler. Who finds its file takes no lock. All-zero memory is an empty table.
#pragma once

#include <cstdint>

#include "base/arch.h"

namespace redflag {

class FilePlaces {
 public:
  static constexpr uint32_t kPlaces = 1u << 16;
  static constexpr uint32_t kWays = 8;
  static constexpr int kSetShift = 64 - 13;
  static_assert(uint64_t{kPlaces / kWays} << kSetShift == 0 && kPlaces / kWays == 1u << 13);

  // `key`: tells files apart, and is well mixed, in its upper bits above all. `is_new`: the place was another's before, or nobody's.
  uint32_t PlaceOf(uint64_t key, bool& is_new) {
    is_new = false;
    if (key == 0) key = 1;
    const auto first = static_cast<uint32_t>(key >> kSetShift) * kWays;
    if (const uint32_t place = Find(first, key); place != kNone) return place;
    if (!Lock())
      return first + static_cast<uint32_t>(key >> 32) % kWays;  // in a handler that has interrupted this: shared
    uint32_t place = Find(first, key);
    if (place == kNone) {
      place = first;
      for (uint32_t i = first; i < first + kWays; ++i) {
        if (IsOlder(i, place)) place = i;
      }
      uses_[place] = __atomic_add_fetch(&count_, 1, __ATOMIC_RELAXED);
      __atomic_store_n(&keys_[place], key, __ATOMIC_RELEASE);
      is_new = true;
    }
    __atomic_store_n(&owner_, 0, __ATOMIC_RELEASE);
    return place;
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kPatience = 1u << 20;

  uint32_t Find(uint32_t first, uint64_t key) {
    for (uint32_t i = first; i < first + kWays; ++i) {
      if (__atomic_load_n(&keys_[i], __ATOMIC_ACQUIRE) != key) continue;
      const uint32_t now = __atomic_load_n(&count_, __ATOMIC_RELAXED);
      if (__atomic_load_n(&uses_[i], __ATOMIC_RELAXED) != now) __atomic_store_n(&uses_[i], now, __ATOMIC_RELAXED);
      return i;
    }
    return kNone;
  }
  // A free one is older than any other.
  bool IsOlder(uint32_t place, uint32_t other) const {
    if (keys_[place] == 0 || keys_[other] == 0) return keys_[place] == 0 && keys_[other] != 0;
    return count_ - uses_[place] > count_ - uses_[other];
  }
  // "no": this thread has it, or somebody who will not give it back: a fork came in between.
  bool Lock() {
    const uint64_t self = arch::ThreadPointer();
    for (uint32_t i = 0; i < kPatience; ++i) {
      uint64_t owner = 0;
      if (__atomic_compare_exchange_n(&owner_, &owner, self, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return true;
      if (owner == self) return false;
      arch::Pause();
    }
    return false;
  }

  uint64_t keys_[kPlaces];
  uint32_t uses_[kPlaces];  // as many files as there were when it was last asked for
  uint32_t count_;
  uint64_t owner_;  // of the lock: a thread pointer
};

}  // namespace redflag
