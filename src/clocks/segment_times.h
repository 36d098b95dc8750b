// SegmentTimes: the times of one thread where a segment is known by its time (clocks/segment_locks.h). A segment is a place in the order and a
// set of locks (ThreadSanitizer 4.1). A thread that has the locks again that it had before, and has handed on nothing since, is in the
// same segment, and goes back to its time: what it did there before needs not be recorded again.
//
// So times of a thread go up and down between two moments at which it hands on what it knows. What it hands on has the latest of them:
// whoever knows that one knows them all.
//
// Which sets it had is remembered in a table with a place for each, which may be another's: then the thread has a new time where it could have gone
// back. A thread that forgets many in this way, such as one that walks through a tree with a lock in every node, gets a larger table.
//
// Belongs to its thread.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "base/hash_map.h"
#include "clocks/epoch.h"
#include "clocks/lockset.h"

namespace redflag {

template <class Mem>
class SegmentTimes {
 public:
  explicit SegmentTimes(Arena<Mem>& arena) : arena_(arena) { Allocate(kFirstSegments); }
  ~SegmentTimes() { arena_.Free(segments_, count_ * sizeof(Segment)); }
  SegmentTimes(const SegmentTimes&) = delete;
  SegmentTimes& operator=(const SegmentTimes&) = delete;

  // The latest time that was used.
  Time latest() const { return latest_; }

  // The thread is in another place of the order, at this time, with these locks.
  void Begin(Time now, HeldSet locks) {
    latest_ = now;
    ++place_;
    At(locks) = {.place = place_, .time = now, .locks = locks};
  }

  // It is in the same place with other locks. The time for that; `is_new`: nobody knows of it yet.
  Time GoTo(HeldSet locks, bool& is_new) {
    Segment* segment = &At(locks);
    const bool is_here = segment->place == place_;
    is_new = !is_here || segment->locks != locks;
    if (!is_new) return segment->time;
    if (is_here && ++forgotten_ > count_ && count_ < kMostSegments) {
      Grow();
      segment = &At(locks);
    }
    latest_ = Next(latest_);
    *segment = {.place = place_, .time = latest_, .locks = locks};
    return latest_;
  }

  uint32_t remembered() const { return count_; }  // sets of locks, at most

 private:
  struct Segment {
    uint64_t place;
    Time time;
    HeldSet locks;
  };
  static constexpr uint32_t kFirstSegments = 64;
  static constexpr uint32_t kMostSegments = 1u << 14;

  Segment& At(HeldSet locks) { return segments_[HashKey(locks.raw()) & (count_ - 1)]; }

  void Allocate(uint32_t count) {
    segments_ = static_cast<Segment*>(arena_.Allocate(count * sizeof(Segment)));
    for (uint32_t i = 0; i < count; ++i) segments_[i] = Segment{};  // of no place
    count_ = count;
  }
  void Grow() {
    Segment* old = segments_;
    const uint32_t old_count = count_;
    Allocate(old_count * 4);
    for (uint32_t i = 0; i < old_count; ++i) {
      if (old[i].place == place_) At(old[i].locks) = old[i];
    }
    arena_.Free(old, old_count * sizeof(Segment));
    forgotten_ = 0;
  }

  Arena<Mem>& arena_;
  Segment* segments_ = nullptr;
  uint32_t count_ = 0;      // a power of two
  uint32_t forgotten_ = 0;  // by this table
  Time latest_ = kNever;
  uint64_t place_ = 0;  // counts them
};

}  // namespace redflag
