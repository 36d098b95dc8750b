// One process that is sampled, from the moment it asks to be, or is attached to, until it ends or is left.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collect/collector.h"
#include "collider/pruning.h"
#include "collider/rate_control.h"
#include "collider/site_cache.h"
#include "sample/breakpoints.h"
#include "sample/options.h"
#include "sample/translator.h"

namespace redflag {

class Session {
 public:
  using Clock = std::chrono::steady_clock;

  // Reports go to the collector.
  Session(pid_t pid, const SampleOptions& options, const SiteCache& cache, Collector& collector);

  pid_t pid() const { return pid_; }
  int page_fd() const { return breakpoints_.fd(); }
  // Where it is once the session has begun.
  SamplePage* page() const { return breakpoints_.page(); }

  // Breakpoints are handled from outside: the session begins with the next tick. The process runs, so that breakpoints come little by little. `error`:
  // why there are no data breakpoints.
  void SetOutside(uint32_t watches, int error);
  const SampleCounters& counters() const { return breakpoints_.page()->counters; }
  size_t sites() const { return breakpoints_.size(); }
  // Are there breakpoints, and does the process go on?
  bool has_begun() const { return last_tick_ != Clock::time_point{}; }
  uint32_t watches() const { return breakpoints_.page()->watches; }

  // What is due: breakpoints, time to stop threads for, reports.
  void Tick(Clock::time_point now);
  // No more breakpoints; the process goes on.
  void Stop();
  // The process has ended: what it left behind.
  void Finish();

  struct Outcome {
    uint64_t reported = 0;         // conflicts that were told, repetitions included
    uint64_t synchronization = 0;  // both sides atomic: none
    uint64_t with_second = 0;
    uint64_t both_stacks = 0;
    double seconds = 0, thread_seconds = 0;  // what the budget is a share of
    double processor_seconds = 0;            // that the process has used
  };
  const Outcome& outcome() const { return outcome_; }
  // The thread that was stopped most: for how much of the time.
  double most_stopped() const;

 private:
  void Begin();
  void AddModules(const std::vector<MappedFile>& maps);
  bool IsWanted(const MappedFile& mapped, const std::string& program) const;
  std::vector<bool> FocusOf(const MappedFile& mapped, const std::vector<Site>& sites);
  void TakeRecords();
  void Report(SampleRecord& record);
  void Tell(RaceMessage& race);
  void TellCounters(Clock::time_point now, bool all);
  void Say(uint32_t severity, const std::string& text);

  pid_t pid_;
  const SampleOptions& options_;
  const SiteCache& cache_;
  Collector& collector_;
  Breakpoints breakpoints_;
  Translator conflicts_;
  RateControl rate_;
  FirstMeetings first_;
  PauseBudget budget_;
  std::vector<std::string> added_;
  Clock::time_point last_tick_{}, last_maps_{}, last_threads_{};
  uint64_t threads_ = 1;
  bool stopped_ = false;
  bool outside_ = false;
  // Races of increments wait until it is known whether the value only grows.
  struct Counter {
    RaceMessage race;
    Clock::time_point due;
  };
  CounterHistory counters_;
  std::vector<Counter> waiting_;
  Outcome outcome_;
};

}  // namespace redflag
