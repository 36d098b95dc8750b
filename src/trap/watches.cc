#include "trap/watches.h"

#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>

#include "base/arch.h"
#include "events/sample_rules.h"
#include "trap/system.h"

namespace redflag::trap {
namespace {

constexpr int kTrapPerf = 6;           // TRAP_PERF
constexpr uint32_t kAsynchronous = 1;  // TRAP_PERF_FLAG_ASYNC
constexpr int kHighDescriptor = 700;   // out of the way of programs that count on small numbers
constexpr uint64_t kProbeTag = 0x7265646600000000;

// What the kernel's siginfo looks like for such a signal; libc's headers may be older.
struct PerfSignal {
  int32_t number, error, code, padding;
  uint64_t address;
  uint64_t data;
  uint32_t type;
  uint32_t flags;
};

volatile uint64_t probe_target;

perf_event_attr Attributes(uint64_t address, uint32_t length, bool reads, bool disabled, uint64_t tag) {
  perf_event_attr attributes = {};
  attributes.type = PERF_TYPE_BREAKPOINT;
  attributes.size = sizeof attributes;
  attributes.bp_addr = address;
  attributes.bp_len = length;
  attributes.bp_type = reads ? HW_BREAKPOINT_RW : HW_BREAKPOINT_W;
  attributes.sample_period = 1;
  attributes.disabled = disabled;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.inherit = 1;
  attributes.inherit_thread = 1;
  attributes.remove_on_exec = 1;
  attributes.sigtrap = 1;
  attributes.sig_data = tag;
  return attributes;
}

}  // namespace

volatile uint64_t probe_tag_met;

bool Watches::Set(uint32_t which, uint64_t address, uint32_t length, bool reads, bool disabled, uint64_t tag) const {
  perf_event_attr attributes = Attributes(address, length, reads, disabled, tag);
  return arch::Syscall(SYS_ioctl, fds_[which], PERF_EVENT_IOC_MODIFY_ATTRIBUTES, Raw(&attributes)) == 0;
}

// An event that opens may still never fire.
bool Watches::Probe(uint32_t which) {
  probe_tag_met = 0;
  const uint64_t tag = kProbeTag + which;
  if (!Set(which, reinterpret_cast<uint64_t>(&probe_target), sizeof probe_target, false, false, tag)) return false;
  probe_target = which + 1;
  Disarm(1u << which);
  return probe_tag_met == tag;
}

uint32_t Watches::Open(int32_t& error) {
  count_ = free_ = 0;
  error = 0;
  for (uint32_t i = 0; i < SamplePage::kWatches; ++i) {
    perf_event_attr attributes =
        Attributes(reinterpret_cast<uint64_t>(&probe_target), sizeof probe_target, false, true, 0);
    const int64_t fd = arch::Syscall(SYS_perf_event_open, Raw(&attributes), 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0) {
      if (count_ == 0) error = static_cast<int32_t>(-fd);
      break;
    }
    const int64_t high = arch::Syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, kHighDescriptor);
    if (high >= 0) arch::Syscall(SYS_close, fd);
    fds_[i] = static_cast<int32_t>(high >= 0 ? high : fd);
    if (!Probe(i)) {
      arch::Syscall(SYS_close, fds_[i]);
      fds_[i] = -1;
      break;
    }
    ++count_;
    free_ |= 1u << i;
  }
  return count_;
}

void Watches::Close() {
  for (int32_t& fd : fds_) {
    if (fd >= 0) arch::Syscall(SYS_close, fd);
    fd = -1;
  }
  count_ = free_ = 0;
}

uint32_t Watches::Take(uint64_t address, uint32_t size, uint32_t& watched) {
  uint32_t free = Load(free_);
  for (;;) {
    const uint32_t mask = sampling::ChooseWatches(free, count_, address, size, watched);
    if (mask == 0) return 0;
    if (__atomic_compare_exchange_n(&free_, &free, free & ~mask, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      return mask;
  }
}

bool Watches::Arm(uint32_t mask, uint64_t address, uint32_t size, bool reads, uint64_t tag) const {
  bool all = true;
  for (uint32_t at = 0; mask != 0 && at < size; mask &= mask - 1) {
    const uint32_t piece = sampling::PieceAt(address + at, size - at);
    all &= Set(static_cast<uint32_t>(__builtin_ctz(mask)), address + at, piece, reads, false, tag);
    at += piece;
  }
  return all;
}

void Watches::Disarm(uint32_t mask) const {
  for (; mask != 0; mask &= mask - 1) {
    Set(static_cast<uint32_t>(__builtin_ctz(mask)), reinterpret_cast<uint64_t>(&probe_target), sizeof probe_target,
        false, true, 0);
  }
}

void Watches::GiveBack(uint32_t mask) { __atomic_fetch_or(&free_, mask, __ATOMIC_ACQ_REL); }

bool Watches::IsOurs(const void* siginfo) { return static_cast<const PerfSignal*>(siginfo)->code == kTrapPerf; }

Watches::Met Watches::Read(const void* siginfo) {
  const auto* signal = static_cast<const PerfSignal*>(siginfo);
  return {.address = signal->address, .tag = signal->data, .late = (signal->flags & kAsynchronous) != 0};
}

}  // namespace redflag::trap
