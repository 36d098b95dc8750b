// A barrier that the detector does not see, for tests that need accesses in a known order and no edge between them. 32 bits, since what
// is behind them may be a variable of the test: for how many it waits in the lower ones, how many have arrived in the upper ones. Arrivals
// are counted modulo two phases: nobody can be more than one phase ahead of who waits.
#include <linux/futex.h>
#include <sys/syscall.h>

#include <climits>
#include <cstdint>

#include "base/arch.h"
#include "runtime/abi.h"

namespace {

constexpr uint32_t kPartyBits = 12;
constexpr uint32_t kParties = (uint32_t{1} << kPartyBits) - 1;

// Of the two phases, the one that goes on.
uint32_t PhaseOf(uint32_t state) { return (state >> kPartyBits) / (state & kParties); }

}  // namespace

REDFLAG_ABI void __tsan_testonly_barrier_init(uint32_t* barrier, unsigned parties) {
  __atomic_store_n(barrier, parties & kParties, __ATOMIC_SEQ_CST);
}

REDFLAG_ABI void __tsan_testonly_barrier_wait(uint32_t* barrier) {
  uint32_t before = __atomic_load_n(barrier, __ATOMIC_SEQ_CST);
  uint32_t after;
  do {
    const uint32_t parties = before & kParties;
    if (parties == 0) return;
    after = parties | (((before >> kPartyBits) + 1) % (2 * parties)) << kPartyBits;
  } while (!__atomic_compare_exchange_n(barrier, &before, after, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  const uint32_t phase = PhaseOf(before);
  if (PhaseOf(after) != phase) {
    redflag::arch::Syscall(SYS_futex, reinterpret_cast<int64_t>(barrier), FUTEX_WAKE_PRIVATE, INT_MAX);
    return;
  }
  for (uint32_t now; PhaseOf(now = __atomic_load_n(barrier, __ATOMIC_SEQ_CST)) == phase;) {
    redflag::arch::Syscall(SYS_futex, reinterpret_cast<int64_t>(barrier), FUTEX_WAIT_PRIVATE, now);
  }
}
