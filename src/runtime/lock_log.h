// LockLog: which locks a slot's owner held, and since which time. Cells don't keep locks: an access has a context, which tells
// where the locks that were held had been taken (their chain), and a time; which locks these were is in this log. A
// chain is given up at the end of a time at the latest, so that time and chain name one entry. A ring of words: what it has
// forgotten is reported as unknown, never as none.
//
//   [ address ][ depth, mode, context ] ... for each lock   [ time, chain, count ]
//
// Written by the thread that owns the slot; read by whoever reports a race, who begins again if something was written
// meanwhile. Times of a slot only rise, also from owner to owner, so that one log serves them all.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "base/mem.h"
#include "clocks/epoch.h"
#include "clocks/packed_access.h"
#include "events/event.h"

namespace redflag::rt {

// A lock that is held: the program's name for it, and the stack of its acquisition.
struct HeldAt {
  uint64_t address;
  ContextId context;
  ContextId chain;  // this one and those taken before it
  LockMode mode;
  bool is_own = false;  // of the program's own making (own_locks.h)
  uint16_t depth;
  SyncId name{};  // the same, as sets of locks and their order know it
};

inline EventFlag EventFlagOf(const HeldAt& held) { return held.is_own ? EventFlag::kOwn : EventFlag::kNone; }

class LockLog {
 public:
  static constexpr uint32_t kMaxLocks = 6;  // of one entry; more are counted and not named

  struct Entry {
    uint32_t count = 0;  // may exceed kMaxLocks
    HeldAt locks[kMaxLocks] = {};
  };

  void Add(Time now, const HeldAt* locks, uint32_t count) {
    if (words_ == nullptr) {
      __atomic_store_n(&words_, static_cast<uint64_t*>(MapPages(kWords * sizeof(uint64_t))), __ATOMIC_RELEASE);
    }
    const uint64_t begin = next_;
    __atomic_store_n(&writing_, begin + kLongest, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    uint64_t at = begin;
    for (uint32_t i = 0; i < count && i < kMaxLocks; ++i) {
      Put(at++, locks[i].address);
      Put(at++, uint64_t{locks[i].depth} << 40 | uint64_t{Raw(locks[i].mode)} << 32 | Raw(locks[i].context));
    }
    Put(at++, Label(now, locks[count - 1].chain) | (count < kMaxCount ? count : kMaxCount));
    __atomic_store_n(&next_, at, __ATOMIC_RELEASE);
  }

  // Nobody reads or writes meanwhile.
  void Clear() { next_ = writing_ = 0; }

  // The locks of a chain at a time. False: forgotten.
  bool Find(Time time, ContextId chain, Entry& found) const {
    if (__atomic_load_n(&words_, __ATOMIC_ACQUIRE) == nullptr) return false;
    for (uint64_t at = __atomic_load_n(&next_, __ATOMIC_ACQUIRE); at != 0;) {
      const uint64_t last = Get(--at);
      const auto count = static_cast<uint32_t>(last & kMaxCount);
      const uint64_t named = count < kMaxLocks ? count : kMaxLocks;
      if (at < 2 * named) return false;
      at -= 2 * named;
      const bool is_it = last - count == Label(time, chain);
      if (is_it) {
        found.count = count;
        for (uint64_t i = 0; i < named; ++i) {
          const uint64_t rest = Get(at + 2 * i + 1);
          found.locks[i] = HeldAt{.address = Get(at + 2 * i),
                                  .context = ContextId{static_cast<uint32_t>(rest)},
                                  .chain = kNoContext,
                                  .mode = LockMode(rest >> 32 & 0xff),
                                  .depth = static_cast<uint16_t>(rest >> 40)};
        }
      }
      __atomic_thread_fence(__ATOMIC_ACQUIRE);
      if (at + kWords < __atomic_load_n(&writing_, __ATOMIC_RELAXED)) return false;
      if (is_it) return true;
    }
    return false;
  }

 private:
  static constexpr uint64_t kWords = 4096;
  static constexpr uint64_t kLongest = 2 * kMaxLocks + 1;
  static constexpr int kCountBits = 12;
  static constexpr uint32_t kMaxCount = (1u << kCountBits) - 1;

  static uint64_t Label(Time time, ContextId chain) {
    return (PackedAccess::Label(time) << PackedAccess::kContextBits | Raw(chain)) << kCountBits;
  }
  void Put(uint64_t at, uint64_t word) { __atomic_store_n(&words_[at % kWords], word, __ATOMIC_RELAXED); }
  uint64_t Get(uint64_t at) const { return __atomic_load_n(&words_[at % kWords], __ATOMIC_RELAXED); }

  uint64_t* words_ = nullptr;
  uint64_t next_ = 0;     // one past what was written; never wraps
  uint64_t writing_ = 0;  // up to here words may be changing
};

}  // namespace redflag::rt
