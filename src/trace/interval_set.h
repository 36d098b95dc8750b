// A set of 64-bit numbers kept as disjoint half-open intervals, for sets whose members lie close together:
// addresses that are taken, thread numbers that are used up. Memory follows the number of gaps, not of
// members. Every call is O(log n), amortized for Insert. One thread at a time.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>

namespace redflag {

class IntervalSet {
 public:
  struct Interval {
    uint64_t begin;
    uint64_t end;
  };

  // Adds [begin, end), begin < end. Intervals that touch or overlap become one.
  void Insert(uint64_t begin, uint64_t end) {
    auto next = ends_.upper_bound(begin);
    if (next != ends_.begin() && std::prev(next)->second >= begin) {
      --next;
      begin = next->first;
    }
    while (next != ends_.end() && next->first <= end) {
      if (next->second > end) end = next->second;
      next = ends_.erase(next);
    }
    ends_.emplace_hint(next, begin, end);
  }

  bool Contains(uint64_t number) const { return LastIn(number, number + 1).has_value(); }

  // Of the intervals that share a number with [begin, end), the one that lies highest.
  std::optional<Interval> LastIn(uint64_t begin, uint64_t end) const {
    auto next = ends_.lower_bound(end);
    if (next == ends_.begin()) return std::nullopt;
    const auto& [last_begin, last_end] = *std::prev(next);
    if (last_end <= begin) return std::nullopt;
    return Interval{last_begin, last_end};
  }

 private:
  std::map<uint64_t, uint64_t> ends_;  // begin of an interval -> its end
};

}  // namespace redflag
