// How many breakpoints to set, and how long threads may be stopped (DataCollider 3.1.2). Knows no clock and no process: it is told the time.
//
// The paper adjusts the number of breakpoints until enough of them are met, which settles on code that never runs. Here every place that was not yet
// met keeps its breakpoint, which costs nothing until it is; the rate is spent on places that were met and get their breakpoint back.
#pragma once

#include <algorithm>
#include <cstdint>

namespace redflag {

// How many places get their breakpoint back, so that so many are met in a second.
class RateControl {
 public:
  explicit RateControl(double per_second) : per_second_(per_second) {}

  // `fired`: how many were met since the last call, places that were met for the first time included.
  uint64_t Tick(double seconds, uint64_t fired) {
    // What was not used is forgotten after a while, so that a program that comes out of a long sleep is not met by all of it at once.
    const double most = std::max(per_second_ * kMemory, 1.0);
    due_ = std::min(due_ + per_second_ * seconds, most) - static_cast<double>(fired);
    due_ = std::max(due_, -most);
    if (due_ < 1) return 0;
    return static_cast<uint64_t>(due_);
  }

 private:
  static constexpr double kMemory = 0.25;  // seconds
  double per_second_;
  double due_ = 1;
};

// What may be spent on stopping threads: a share of their time, saved for no longer than a second. What was used beyond (a pause may take longer than
// was meant) is paid back first. Half of it is for accesses to bytes that threads are known to share (events/sample_rules.h); what one half has no room
// for goes to the other.
class PauseBudget {
 public:
  explicit PauseBudget(double share) : share_(share) {}

  // In nanoseconds.
  struct Halves {
    int64_t any = 0, shared = 0;
  };

  // How much to add for the time of `threads` threads since the last call; `left`: what is there, may be less than nothing.
  Halves Tick(double seconds, uint64_t threads, Halves left) const {
    const double a_second = share_ * static_cast<double>(threads) * kNanoseconds;
    const double most = std::max(a_second / 2, kLeast);
    const double income = a_second * seconds;
    const double room_any = std::max(most - static_cast<double>(left.any), 0.0);
    const double room_shared = std::max(most - static_cast<double>(left.shared), 0.0);
    const double any = std::min(std::max(income / 2, income - room_shared), room_any);
    const double shared = std::min(income - any, room_shared);
    return {.any = static_cast<int64_t>(any), .shared = static_cast<int64_t>(shared)};
  }

 private:
  static constexpr double kNanoseconds = 1e9;
  static constexpr double kLeast = 15e6;  // one long pause
  double share_;
};

}  // namespace redflag
