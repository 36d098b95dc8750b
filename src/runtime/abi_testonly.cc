// A barrier that the detector does not see, for tests that need accesses in a known order and no edge between them. 64 bits: how many have
// arrived, and in the upper half for how many it waits.
#include <linux/futex.h>
#include <sys/syscall.h>

#include <climits>
#include <cstdint>

#include "base/arch.h"
#include "runtime/abi.h"

REDFLAG_ABI void __tsan_testonly_barrier_init(uint64_t* barrier, unsigned parties) {
  __atomic_store_n(barrier, uint64_t{parties} << 32, __ATOMIC_SEQ_CST);
}

REDFLAG_ABI void __tsan_testonly_barrier_wait(uint64_t* barrier) {
  const uint64_t before = __atomic_fetch_add(barrier, 1, __ATOMIC_SEQ_CST);
  const auto parties = static_cast<uint32_t>(before >> 32);
  if (parties == 0) return;
  const uint32_t phase = static_cast<uint32_t>(before) / parties;
  auto* arrived = reinterpret_cast<uint32_t*>(barrier);  // the lower half: both architectures are little-endian
  if ((static_cast<uint32_t>(before) + 1) / parties != phase) {
    redflag::arch::Syscall(SYS_futex, reinterpret_cast<int64_t>(arrived), FUTEX_WAKE_PRIVATE, INT_MAX);
    return;
  }
  for (uint32_t now; (now = __atomic_load_n(arrived, __ATOMIC_SEQ_CST)) / parties == phase;) {
    redflag::arch::Syscall(SYS_futex, reinterpret_cast<int64_t>(arrived), FUTEX_WAIT_PRIVATE, now);
  }
}
