// Samples of a process whose threads are stopped from outside: what trap/sampler.h does in the program, for `redflag attach`. Same page, same rules
// (events/sample_rules.h); who stops threads, and lets them go on, is sample/tracer.h.
//
// One thread of ours uses it. The page is shared with the session, which runs on another (sample/session.h).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <random>

#include "events/sample_page.h"
#include "events/sample_rules.h"
#include "sample/thread_registers.h"
#include "sample/thread_watches.h"

namespace redflag {

class OutsideSampler {
 public:
  // All threads that may come to watched bytes: calls the function with each and its number.
  using EachThread = std::function<void(const std::function<void(pid_t, ThreadWatches&)>&)>;
  // A thread that was stopped goes on.
  using GoOn = std::function<void(pid_t)>;

  // `memory`: of the process, as a file.
  OutsideSampler(pid_t pid, int memory, SamplePage* page, EachThread each_thread, GoOn go_on);

  // A thread that is stopped before the access of a place. True: it stays stopped, until `GoOn` is called with it.
  bool Begin(pid_t tid, uint32_t site, const NativeRegisters& registers);
  // A thread that begins: what is watched is watched there, too.
  void AddThread(ThreadWatches& watches) const;
  // A thread that is gone.
  void Drop(pid_t tid);

  // Whatever is due: who was caught, whose time is over.
  void Advance();
  // When to call that again at the latest, in nanoseconds from now; UINT64_MAX: nothing is under way.
  uint64_t NextDue() const;
  // Everybody goes on.
  void EndAll();

 private:
  struct Sample {
    pid_t owner = 0;  // 0: not under way
    uint32_t record = 0, site = 0;
    uint64_t address = 0;
    uint32_t size = 0;
    bool writes = false, in_grace = false, came = false, cut_short = false, changed = false;
    uint32_t mask = 0;
    sampling::Paid paid{};
    uint64_t begin = 0, end = 0;
    uint64_t next_slice = 0, work = 0, idle = 0;
    NativeRegisters registers{};
  };
  static constexpr uint32_t kSamples = 8;

  bool Read(uint64_t address, void* to, size_t bytes) const;
  uint64_t ProcessorTime() const;
  bool Collide(pid_t tid, const SampleSite& site, uint64_t address, const NativeRegisters& registers);
  void WriteStop(SampleStop& stop, pid_t tid, const NativeRegisters& registers) const;
  void TakeCaught();
  bool IsOver(Sample& sample, uint64_t now);
  void Finish(Sample& sample);
  void Disarm(const Sample& sample);

  pid_t pid_;
  int memory_;
  SamplePage* page_;
  EachThread each_thread_;
  GoOn go_on_;
  clockid_t processor_clock_{};
  uint32_t free_ = 0;  // data breakpoints, a bit for each
  Sample samples_[kSamples];
  SampleStop caught_{};
  std::mt19937_64 random_{std::random_device{}()};
};

}  // namespace redflag
