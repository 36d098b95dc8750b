// The memory policy of a detector: the same algorithm runs online, where threads share its tables, and
// offline, where one thread owns them and atomic instructions would be waste.
//
//   AtomicMem   several threads: atomic counters, real spin locks
//   PlainMem    one thread: plain counters, locks that cost nothing
#pragma once

#include <cstdint>

#include "base/arch.h"

namespace redflag {

struct PlainMem {
  static constexpr uint32_t kShards = 1;
  static uint32_t Shard() { return 0; }

  class Counter {
   public:
    uint64_t Load() const { return value_; }
    void Add(uint64_t n) { value_ += n; }
    // Returns the value after the subtraction.
    uint64_t Sub(uint64_t n) { return value_ -= n; }

   private:
    uint64_t value_ = 0;
  };

  class Lock {
   public:
    void Acquire() {}
    void Release() {}
  };
};

struct AtomicMem {
  // What several threads use at once is cut into parts, each with a lock of its own. Which one a thread takes first: threads have their
  // stacks far apart.
  static constexpr uint32_t kShards = 8;
  static uint32_t Shard() {
    const auto stack = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
    return static_cast<uint32_t>(stack >> 16) * 0x9e3779b1u >> 29;
  }

  class Counter {
   public:
    uint64_t Load() const { return __atomic_load_n(&value_, __ATOMIC_ACQUIRE); }
    void Add(uint64_t n) { __atomic_fetch_add(&value_, n, __ATOMIC_RELAXED); }
    uint64_t Sub(uint64_t n) { return __atomic_sub_fetch(&value_, n, __ATOMIC_ACQ_REL); }

   private:
    uint64_t value_ = 0;
  };

  // Waits for somebody who is done in a moment, unless the system took the processor from them: then it is theirs.
  class Wait {
   public:
    void Once() {
      if (++count_ < kPatience) {
        arch::Pause();
      } else {
        arch::Yield();
      }
    }

   private:
    static constexpr uint32_t kPatience = 32;
    uint32_t count_ = 0;
  };

  // A test-and-test-and-set lock. Held for a few dozen instructions at most, never across a call out of
  // Redflag's own code; invisible to the program under test.
  class Lock {
   public:
    void Acquire() {
      if (__atomic_exchange_n(&held_, true, __ATOMIC_ACQUIRE)) [[unlikely]]
        AcquireLate();
    }
    bool TryAcquire() { return !__atomic_exchange_n(&held_, true, __ATOMIC_ACQUIRE); }
    void Release() { __atomic_store_n(&held_, false, __ATOMIC_RELEASE); }

   private:
    [[gnu::noinline]] void AcquireLate() {
      Wait wait;
      do {
        while (__atomic_load_n(&held_, __ATOMIC_RELAXED)) wait.Once();
      } while (__atomic_exchange_n(&held_, true, __ATOMIC_ACQUIRE));
    }

    bool held_ = false;
  };
};

template <class Lock>
class ScopedLock {
 public:
  explicit ScopedLock(Lock& lock) : lock_(lock) { lock_.Acquire(); }
  ~ScopedLock() { lock_.Release(); }
  ScopedLock(const ScopedLock&) = delete;
  ScopedLock& operator=(const ScopedLock&) = delete;

 private:
  Lock& lock_;
};

}  // namespace redflag
