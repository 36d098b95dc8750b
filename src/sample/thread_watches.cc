#include "sample/thread_watches.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "events/sample_machine.h"
#include "events/sample_rules.h"
#include "sample/thread_registers.h"

namespace redflag {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kDataBytes = 8 * kPage;  // one copy of a thread, and some: the first one counts
constexpr uint64_t kNowhere = 0x1000;     // where no program has data

perf_event_attr Attributes(uint64_t address, uint32_t length, bool reads, bool disabled) {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_BREAKPOINT;
  attributes.size = sizeof attributes;
  attributes.bp_addr = address;
  attributes.bp_len = length;
  attributes.bp_type = reads ? HW_BREAKPOINT_RW : HW_BREAKPOINT_W;
  attributes.sample_period = 1;
  attributes.wakeup_events = 1;
  attributes.disabled = disabled;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_ADDR | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  attributes.sample_regs_user = kSampleRegisters;
  attributes.sample_stack_user = SampleStop::kStackBytes;
  return attributes;
}

// What those attributes put in front of the stack.
struct Caught {
  perf_event_header header;
  uint32_t pid, tid;
  uint64_t address;
  uint64_t abi;  // of the registers; 0: there are none, and the words behind are not what they are named
  uint64_t registers[kSampleRegisterCount];
  uint64_t stack_bytes;
};

}  // namespace

uint32_t ThreadWatches::Open(pid_t tid, int& error) {
  error = 0;
  perf_event_attr attributes = Attributes(kNowhere, sampling::kMostWatchedBytes, false, true);
  for (uint32_t i = 0; i < SamplePage::kWatches; ++i) {
    const auto fd = static_cast<int>(syscall(SYS_perf_event_open, &attributes, tid, -1, -1, PERF_FLAG_FD_CLOEXEC));
    if (fd < 0) {
      if (i == 0) error = errno;
      break;
    }
    fds_[i] = fd;
    if (i == 0) {
      void* at = mmap(nullptr, kPage + kDataBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
      if (at == MAP_FAILED) {
        error = errno;
        Close();
        return 0;
      }
      buffer_ = static_cast<std::byte*>(at);
    } else if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, fds_[0]) != 0) {
      close(fd);
      fds_[i] = -1;
      break;
    }
    ++count_;
  }
  return count_;
}

void ThreadWatches::Close() {
  if (buffer_ != nullptr) munmap(buffer_, kPage + kDataBytes);
  buffer_ = nullptr;
  for (int& fd : fds_) {
    if (fd >= 0) close(fd);
    fd = -1;
  }
  count_ = 0;
}

void ThreadWatches::Arm(uint32_t mask, uint64_t address, uint32_t size, bool reads) const {
  for (uint32_t at = 0; mask != 0 && at < size; mask &= mask - 1) {
    const uint32_t piece = sampling::PieceAt(address + at, size - at);
    const auto which = static_cast<uint32_t>(__builtin_ctz(mask));
    if (which < count_) {
      perf_event_attr attributes = Attributes(address + at, piece, reads, false);
      ioctl(fds_[which], PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attributes);
    }
    at += piece;
  }
}

void ThreadWatches::Disarm(uint32_t mask) const {
  for (; mask != 0; mask &= mask - 1) {
    const auto which = static_cast<uint32_t>(__builtin_ctz(mask));
    if (which >= count_) continue;
    perf_event_attr attributes = Attributes(kNowhere, sampling::kMostWatchedBytes, false, true);
    ioctl(fds_[which], PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attributes);
  }
}

void ThreadWatches::CopyOut(uint64_t at, void* to, size_t bytes) const {
  const std::byte* data = buffer_ + kPage;
  const size_t begin = at % kDataBytes;
  const size_t first = std::min(bytes, kDataBytes - begin);
  std::memcpy(to, data + begin, first);
  std::memcpy(static_cast<std::byte*>(to) + first, data, bytes - first);
}

bool ThreadWatches::Take(SampleStop& stop, uint64_t& address) {
  if (buffer_ == nullptr) return false;
  auto* page = reinterpret_cast<perf_event_mmap_page*>(buffer_);
  const uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
  uint64_t tail = page->data_tail;
  bool taken = false;
  while (!taken && tail != head) {
    Caught caught{};
    CopyOut(tail, &caught.header, sizeof caught.header);
    const uint64_t record = tail;
    tail += caught.header.size;
    if (caught.header.size < sizeof caught.header) tail = head;  // never; and not again and again if it is
    if (caught.header.type != PERF_RECORD_SAMPLE || caught.header.size < sizeof caught) continue;
    CopyOut(record, &caught, sizeof caught);
    if (caught.abi != PERF_SAMPLE_REGS_ABI_64) continue;
    address = caught.address;
    stop.tid = caught.tid;
    stop.is_before = kWatchStopsBefore ? 1 : 0;
    CopySampleRegisters(caught.registers, stop.registers, stop.pc, stop.stack_begin);
    // Behind the copy stands how much of it is one.
    uint64_t bytes = std::min<uint64_t>(caught.stack_bytes, caught.header.size - sizeof caught);
    bytes = std::min<uint64_t>(bytes, SampleStop::kStackBytes);
    uint64_t valid = 0;
    if (bytes != 0 && sizeof caught + bytes + sizeof valid <= caught.header.size) {
      CopyOut(record + sizeof caught + bytes, &valid, sizeof valid);
      CopyOut(record + sizeof caught, stop.stack, bytes);
    }
    stop.stack_bytes = static_cast<uint32_t>(std::min(valid, bytes));
    taken = true;
  }
  __atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
  return taken;
}

}  // namespace redflag
