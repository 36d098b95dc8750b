// The data breakpoints of the process: four events of the kernel (perf_event_open, PERF_TYPE_BREAKPOINT) that every thread inherits. A thread that
// touches watched bytes gets SIGTRAP with the word `tag` of the sample, wherever it is in user mode.
//
// A sample takes as many of the four as its bytes need, and gives them back.
#pragma once

#include <cstdint>

#include "events/sample_page.h"

namespace redflag::trap {

class Watches {
 public:
  // Before there are threads: those that are there already are not watched. Tries each by an access of its own. How many work; if none,
  // `error` is why.
  uint32_t Open(int32_t& error);
  void Close();

  // Takes what is needed to watch the bytes; a mask of what was taken, 0: not enough were free. `watched`: of the bytes, how many.
  uint32_t Take(uint64_t address, uint32_t size, uint32_t& watched);
  // Arms what was taken: every thread that writes these bytes, or with `reads` accesses them, gets `tag`.
  bool Arm(uint32_t mask, uint64_t address, uint32_t size, bool reads, uint64_t tag) const;
  void Disarm(uint32_t mask) const;
  void GiveBack(uint32_t mask);

  // What the kernel says in the siginfo of such a signal.
  struct Met {
    uint64_t address;
    uint64_t tag;
    bool late;  // the signal was blocked: the thread has gone on since
  };
  static bool IsOurs(const void* siginfo);
  static Met Read(const void* siginfo);

 private:
  bool Set(uint32_t which, uint64_t address, uint32_t length, bool reads, bool disabled, uint64_t tag) const;
  bool Probe(uint32_t which);

  int32_t fds_[SamplePage::kWatches] = {-1, -1, -1, -1};
  uint32_t count_ = 0;
  uint32_t free_ = 0;  // a bit for each
};

// What is written by the handler while Watches::Open tries them.
extern volatile uint64_t probe_tag_met;

}  // namespace redflag::trap
