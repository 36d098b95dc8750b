// How many breakpoints to set, and how long threads may be stopped (DataCollider 3.1.2). Knows no clock and no process: it is told the time.
//
// The paper adjusts the number of breakpoints until enough of them are met, which settles on code that never runs. Here every place that was not yet
// met gets a breakpoint and keeps it, which costs nothing until it is met (FirstMeetings); the rate is spent on places that were met and get their
// breakpoint back (RateControl).
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

// How many places get their first breakpoint. Those of a small program all at once. A large one would do nothing else for a while than meet them: there,
// as many as are likely to be met at a modest rate, going by those that have theirs.
class FirstMeetings {
 public:
  static constexpr uint64_t kAtOnce = 4096;

  explicit FirstMeetings(double per_second) : per_second_(std::max(per_second, kLeast)) {}

  // `met`: of the places that have theirs, how many were met since the last call, for the first time. `left`: how many have none yet; no more are given.
  uint64_t Tick(double seconds, uint64_t met, uint64_t left) {
    met_ += met;
    due_ = std::min(due_ + per_second_ * seconds, per_second_ * kMemory) - static_cast<double>(met);
    since_ += seconds;
    if (since_ < kLook || due_ < 1 || left == 0) return 0;
    since_ = 0;
    const double likely = static_cast<double>(met_ + 1) / static_cast<double>(given_);
    const uint64_t count = std::min({static_cast<uint64_t>(due_ / likely), given_, left});
    given_ += count;
    return count;
  }

 private:
  static constexpr double kLeast = 1000;  // a second: one or two hundredths of a processor
  static constexpr double kMemory = 0.25;
  static constexpr double kLook = 0.1;  // seconds: for as long, it is looked how many of the latest are met
  double per_second_;
  double due_ = 0;
  double since_ = 0;
  uint64_t given_ = kAtOnce, met_ = 0;
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
