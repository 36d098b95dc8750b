// The data breakpoints of one thread of another process: events of the kernel (perf_event_open, PERF_TYPE_BREAKPOINT). When the thread touches watched
// bytes, the kernel copies its registers and its stack into a buffer that is shared with us. The thread is neither stopped nor sent a signal, and when
// we end, however that is, the data breakpoints are gone.
//
// For one thread of ours at a time.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "events/sample_page.h"

namespace redflag {

class ThreadWatches {
 public:
  ThreadWatches() = default;
  ~ThreadWatches() { Close(); }
  ThreadWatches(const ThreadWatches&) = delete;
  ThreadWatches& operator=(const ThreadWatches&) = delete;

  // How many there are; if none, `error` is why.
  uint32_t Open(pid_t tid, int& error);
  void Close();

  // Those of the mask, so that the thread is caught if it writes these bytes, or with `reads` accesses them.
  void Arm(uint32_t mask, uint64_t address, uint32_t size, bool reads) const;
  void Disarm(uint32_t mask) const;

  // The next time that it was caught. False: there is none.
  bool Take(SampleStop& stop, uint64_t& address);

  // Readable when it was caught; -1: it cannot be.
  int fd() const { return fds_[0]; }

 private:
  void CopyOut(uint64_t at, void* to, size_t bytes) const;

  int fds_[SamplePage::kWatches] = {-1, -1, -1, -1};
  uint32_t count_ = 0;
  std::byte* buffer_ = nullptr;
};

}  // namespace redflag
