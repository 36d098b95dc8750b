// SegmentTimes: the times of one thread where a segment is known by its time (clocks/segment_locks.h). A segment is a place in the order and a
// set of locks (ThreadSanitizer 4.1). A thread that has the locks again that it had before, and has handed on nothing since, is in the
// same segment, and goes back to its time: what it did there before needs not be recorded again.
//
// So times of a thread go up and down between two moments at which it hands on what it knows. What it hands on has the latest of them:
// whoever knows that one knows them all.
//
// Belongs to its thread.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "clocks/epoch.h"

namespace redflag {

class SegmentTimes {
 public:
  // The latest time that was used.
  Time latest() const { return latest_; }

  // The thread is in another place of the order, at this time, with these locks.
  void Begin(Time now, LocksetId locks) {
    latest_ = now;
    ++place_;
    Note(locks);
  }

  // It is in the same place with other locks. The time for that; `is_new`: nobody knows of it yet.
  Time GoTo(LocksetId locks, bool& is_new) {
    const Segment& known = segments_[Raw(locks) % kSegments];
    is_new = known.locks != locks || known.place != place_;
    if (!is_new) return known.time;
    latest_ = Next(latest_);
    Note(locks);
    return latest_;
  }

 private:
  struct Segment {
    uint64_t place;
    Time time;
    LocksetId locks;
  };
  static constexpr uint32_t kSegments = 256;

  void Note(LocksetId locks) { segments_[Raw(locks) % kSegments] = {.place = place_, .time = latest_, .locks = locks}; }

  Time latest_ = kNever;
  uint64_t place_ = 0;  // counts them
  Segment segments_[kSegments] = {};
};

}  // namespace redflag
