// TransactionTurns: no more transactions at a time than half of the processors. libitm waits for one another's transactions in a loop that gives the
// processor to nobody: a thread that loses the processor in a transaction makes whoever commits burn a time slice, and with many threads nearly all time
// goes there. Transactions take longer while they are watched, so it would happen more often; whoever finds no turn sleeps instead, before it begins.
//
// It is a matter of time only. Turns are not handed over, who comes takes what is free, and now and then somebody who sleeps is woken; if
// none ended for a while, whoever waits begins without one, so that transactions that wait for one another by reading get on as ever.
// Any thread, outside of transactions.
#pragma once

#include <linux/futex.h>
#include <time.h>

#include <cstdint>

#include "base/arch.h"

namespace redflag {

class TransactionTurns {
 public:
  // `most`: how many at a time; 0: as many as there should be here.
  constexpr explicit TransactionTurns(int32_t most = 0) : most_(most) {}

  // Returns whether the caller has a turn, to be given back.
  bool Take() {
    if (!TryTake()) [[unlikely]]
      return Wait();
    return true;
  }

  // `told`: how many transactions the thread has ended.
  void GiveBack(uint32_t told) {
    __atomic_store_n(&ended_, __atomic_load_n(&ended_, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&taken_, -1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&waiting_, __ATOMIC_SEQ_CST) != 0 && told % kBetweenCalls == 0) [[unlikely]]
      WakeOne();
  }

  // In the child of a fork: nobody else is there to give anything back.
  void BeginProcess(bool has_turn) {
    __atomic_store_n(&taken_, has_turn ? 1 : 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&waiting_, 0, __ATOMIC_SEQ_CST);
  }

 private:
  static constexpr uint32_t kBetweenCalls = 64;
  static constexpr int64_t kNapNs = 20'000'000;
  static constexpr uint32_t kPatience = 50;  // naps in which no transaction ended

  bool TryTake() {
    const int32_t most = __atomic_load_n(&most_, __ATOMIC_RELAXED);
    int32_t taken = __atomic_load_n(&taken_, __ATOMIC_RELAXED);
    while (taken < (most != 0 ? most : FindMost())) {
      if (__atomic_compare_exchange_n(&taken_, &taken, taken + 1, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
        return true;
    }
    return false;
  }

  [[gnu::noinline]] bool Wait() {
    __atomic_fetch_add(&waiting_, 1, __ATOMIC_SEQ_CST);
    bool has_turn = false;
    uint32_t ended = __atomic_load_n(&ended_, __ATOMIC_RELAXED);
    for (uint32_t in_vain = 0; in_vain < kPatience;) {
      const uint32_t calls = __atomic_load_n(&calls_, __ATOMIC_SEQ_CST);
      has_turn = TryTake();
      if (has_turn) break;
      const timespec nap{.tv_sec = 0, .tv_nsec = kNapNs};
      arch::Syscall(SYS_futex, reinterpret_cast<int64_t>(&calls_), FUTEX_WAIT_PRIVATE, calls,
                    reinterpret_cast<int64_t>(&nap));
      const uint32_t ended_now = __atomic_load_n(&ended_, __ATOMIC_RELAXED);
      in_vain = ended_now == ended ? in_vain + 1 : 0;
      ended = ended_now;
    }
    __atomic_fetch_add(&waiting_, -1, __ATOMIC_SEQ_CST);
    return has_turn;
  }

  [[gnu::noinline]] void WakeOne() {
    __atomic_fetch_add(&calls_, 1, __ATOMIC_SEQ_CST);
    arch::Syscall(SYS_futex, reinterpret_cast<int64_t>(&calls_), FUTEX_WAKE_PRIVATE, 1);
  }

  [[gnu::noinline]] int32_t FindMost() {
    uint64_t processors[16] = {};
    const int64_t bytes =
        arch::Syscall(SYS_sched_getaffinity, 0, sizeof processors, reinterpret_cast<int64_t>(processors));
    int32_t count = 0;
    for (int64_t i = 0; i < bytes / 8; ++i) count += __builtin_popcountll(processors[i]);
    const int32_t most = count < 2 ? 1 : count / 2;
    __atomic_store_n(&most_, most, __ATOMIC_RELAXED);
    return most;
  }

  alignas(64) int32_t taken_ = 0;
  int32_t most_;  // 0: nobody has counted the processors
  uint32_t waiting_ = 0;
  uint32_t ended_ = 0;  // transactions, about; that it changes is what counts
  uint32_t calls_ = 0;  // of those who wait; what they sleep on
};

}  // namespace redflag
