// IntervalList: address ranges that carry a value, few at a time (annotations). Ranges may overlap; removing
// a range cuts it out of all of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/ids.h"

namespace redflag {

template <class Value>
class IntervalList {
 public:
  bool empty() const { return intervals_.empty(); }

  void Add(Addr addr, uint64_t size, Value value) {
    intervals_.push_back(Interval{addr, addr + size, std::move(value)});
  }

  // The value of exactly this range, if there is one.
  Value* Find(Addr addr, uint64_t size) {
    for (Interval& interval : intervals_) {
      if (interval.begin == addr && interval.end == addr + size) return &interval.value;
    }
    return nullptr;
  }

  void Remove(Addr addr, uint64_t size) {
    if (intervals_.empty()) return;
    const Addr end = addr + size;
    std::vector<Interval> kept;
    for (Interval& interval : intervals_) {
      if (interval.end <= addr || interval.begin >= end) {
        kept.push_back(std::move(interval));
        continue;
      }
      if (interval.begin < addr) kept.push_back(Interval{interval.begin, addr, interval.value});
      if (interval.end > end) kept.push_back(Interval{end, interval.end, interval.value});
    }
    intervals_ = std::move(kept);
  }

  // Calls visit(begin, end, value) for each range that touches [addr, addr + size).
  template <class Visitor>
  void ForEach(Addr addr, uint64_t size, Visitor visit) {
    for (Interval& interval : intervals_) {
      if (interval.begin < addr + size && interval.end > addr) visit(interval.begin, interval.end, interval.value);
    }
  }

  // Calls visit(addr, size) for each maximal part of [addr, addr + size) that no range touches.
  template <class Visitor>
  void ForEachGap(Addr addr, uint64_t size, Visitor visit) {
    std::vector<std::pair<Addr, Addr>> inside;
    ForEach(addr, size, [&](Addr begin, Addr end, Value&) { inside.emplace_back(begin, end); });
    std::sort(inside.begin(), inside.end());
    Addr next = addr;
    for (const auto& [begin, end] : inside) {
      if (begin > next) visit(next, begin - next);
      next = std::max(next, end);
    }
    if (next < addr + size) visit(next, addr + size - next);
  }

 private:
  struct Interval {
    Addr begin;
    Addr end;
    Value value;
  };
  std::vector<Interval> intervals_;
};

}  // namespace redflag
