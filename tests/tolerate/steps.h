// Forced interleavings: one thread's section, and somebody outside of it whose accesses come exactly where a test wants them.
//
// The section is the real one: tolerant mutexes and variables with `Stepped` for their memory, which before each access to words that others can see asks
// whether it is somebody else's turn. An access from outside is one atomic operation on one word, so that to run it there, between two steps of the
// section, is all that another thread could do. What the section does to its own copies are steps too, if the body says so (Steps::Here).
//
// An interleaving is a list of gaps: for each access from outside, in order, the number of steps of the section that came before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "redflag/tolerate.hpp"

namespace tolerate_tests {

class Steps {
 public:
  // The accesses from outside are in Act(number); number `i` comes when gaps[i] steps were made, or at the end.
  template <class Section>
  static size_t Run(const std::vector<size_t>& gaps, const std::function<void(size_t)>& act, const Section& section) {
    gaps_ = &gaps;
    act_ = &act;
    step_ = next_ = 0;
    section();
    const size_t steps = step_;
    while (next_ < gaps.size()) act(next_++);
    gaps_ = nullptr;
    return steps;
  }

  // Before a step of the section.
  static void Here() {
    if (gaps_ == nullptr) return;
    while (next_ < gaps_->size() && (*gaps_)[next_] <= step_) (*act_)(next_++);
    ++step_;
  }

 private:
  static inline const std::vector<size_t>* gaps_ = nullptr;
  static inline const std::function<void(size_t)>* act_ = nullptr;
  static inline size_t step_ = 0;
  static inline size_t next_ = 0;
};

struct Stepped {
  using hardware = redflag::tolerate::hardware;
  template <class Unit>
  static uint64_t load(const void* at) {
    Steps::Here();
    return hardware::load<Unit>(at);
  }
  template <class Unit>
  static bool replace(void* at, uint64_t& expected, uint64_t desired) {
    Steps::Here();
    return hardware::replace<Unit>(at, expected, desired);
  }
  template <class Unit>
  static void store(void* at, uint64_t value) {
    Steps::Here();
    hardware::store<Unit>(at, value);
  }
  template <class Unit>
  static uint64_t outside_load(const void* at) {
    return hardware::outside_load<Unit>(at);
  }
  template <class Unit>
  static void outside_store(void* at, uint64_t value) {
    hardware::outside_store<Unit>(at, value);
  }
  template <class Unit>
  static bool outside_replace(void* at, uint64_t& expected, uint64_t desired) {
    return hardware::outside_replace<Unit>(at, expected, desired);
  }
};

// A mutex for one thread, which is all there is.
struct NoLock {
  void lock() {}
  bool try_lock() { return true; }
  void unlock() {}
};

using Mutex = redflag::basic_tolerant_mutex<NoLock, Stepped>;
template <class T>
using Tolerated = redflag::tolerated<T, Stepped>;

template <class T>
using Passing = redflag::tolerated_target<T, Stepped>;

// Calls run(gaps), which answers how many steps the section made, for every way to place `count` accesses between them: each once.
template <class Run>
void ForEachInterleaving(size_t count, const Run& run) {
  std::vector<size_t> gaps(count, 0);
  while (true) {
    const size_t steps = run(gaps);
    size_t i = count;
    while (i > 0 && gaps[i - 1] >= steps) --i;
    if (i == 0) return;
    const size_t gap = gaps[i - 1] + 1;
    for (size_t j = i - 1; j < count; ++j) gaps[j] = gap;
  }
}

}  // namespace tolerate_tests
