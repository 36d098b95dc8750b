// The handler of breakpoints (DataCollider, Figure 2): a thread that meets one takes it away, and is stopped before its access for a while. Its bytes
// are watched and read before and after; what comes in between conflicts with it.
//
//   OnBreakpoint   the thread that is sampled
//   OnWatch        a thread that came to the same bytes
//
// All of it runs in signal handlers, on any thread, several at once. What they share is in Sample and in the page, and is atomic. It makes no
// call but system calls, and touches no memory of the program but by the kernel.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <cstdint>

#include "events/sample_page.h"
#include "trap/watches.h"

namespace redflag::trap {

class Sampler {
 public:
  // `page`: all of it is mapped. `door`: to ring at.
  void Start(SamplePage* page, SampleDoor* door) {
    page_ = page;
    door_ = door;
  }
  Watches& watches() { return watches_; }
  SamplePage* page() const { return page_; }

  // In a process of its own that was forked: no more samples. Breakpoints that it inherited are taken away when they are met.
  void Leave() { watches_.Close(); }

  // False: it is not ours.
  bool OnTrap(const siginfo_t* info, ucontext_t& context);

  // Breakpoints go, and none will come: the sampling process does it. For before the program forbids itself system calls.
  void Withdraw(SamplePage::Why why);

 private:
  // A sample that is under way. Its number and how often it was used are the tag of its data breakpoints.
  struct Sample {
    enum Hit : uint32_t { kOpen, kComing, kCame, kClosed };
    uint32_t taken;
    uint32_t hit;  // futex
    uint64_t use;
    uint32_t owner;  // thread
    uint32_t record;
    uint64_t address;
    uint32_t size;
    uint32_t writes;
    uint32_t mask;
  };
  static constexpr uint32_t kSamples = 8;
  static constexpr uint32_t kNone = UINT32_MAX;

  // Counts those who are in the handler of a breakpoint.
  class Busy {
   public:
    explicit Busy(uint32_t& count) : count_(count) { __atomic_fetch_add(&count_, 1, __ATOMIC_SEQ_CST); }
    ~Busy() { __atomic_fetch_sub(&count_, 1, __ATOMIC_SEQ_CST); }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

   private:
    uint32_t& count_;
  };

  const SampleSite& SiteAt(uint32_t index) const;
  void RingBell();
  uint32_t TakeSample();
  bool Collide(const SampleSite& site, uint64_t address, const ucontext_t& context);
  // The bytes are not what they were; they are kept as they are now.
  static bool ReadAgain(SampleRecord& record);
  void DoSample(uint32_t index, uint64_t address, const ucontext_t& context);
  void SelfCheck(const SampleSite& site, uint64_t address);
  void OnWatch(const siginfo_t* info, const ucontext_t& context);
  void OnOwnWatch(Sample& sample, const Watches::Met& met);
  bool Claim(Sample& sample, const ucontext_t& context, bool is_before);
  bool Wait(Sample& sample, uint64_t delay);
  void WriteStop(SampleStop& stop, const ucontext_t& context, bool is_before) const;
  uint64_t Random();

  SamplePage* page_ = nullptr;
  SampleDoor* door_ = nullptr;
  Watches watches_;
  Sample samples_[kSamples] = {};
  uint32_t handlers_ = 0;  // of breakpoints, that run now
  uint64_t random_ = 0;
};

}  // namespace redflag::trap
