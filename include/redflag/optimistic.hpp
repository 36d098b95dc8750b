// Optimistic use of races: do it without a lock, and if that turns out to race, undo it and do it again another way.
//
//   long total = 0;
//   redflag::optimistically(mutex, [&](redflag::undo_log& undo) {
//     undo.keep(total);                               // what it was, in case of a race
//     for (auto& shelf : shelves) total += shelf.count;   // redflag::checked<int>, or code of `redflag c++ --throw`
//   });
//
// The first attempt takes no lock. A racy access does not happen but throws; what was kept is put back, and the second attempt holds the lock,
// after which everything is ordered that was done under it. (Without anything that orders them, the same two accesses race for ever: a retry
// needs a lock, or something else to wait for.)
#ifndef REDFLAG_OPTIMISTIC_HPP_
#define REDFLAG_OPTIMISTIC_HPP_

#include <functional>
#include <mutex>
#include <redflag/race_error.hpp>
#include <utility>
#include <vector>

namespace redflag {

// What variables were, to be put back in reverse order. Of one thread, like the block that it is handed to.
class undo_log {
 public:
  undo_log() = default;
  undo_log(const undo_log&) = delete;
  undo_log& operator=(const undo_log&) = delete;

  // The variable has to live until the block has ended.
  template <class T>
  void keep(T& variable) {
    T before = variable;
    on_race([&variable, before]() mutable { variable = std::move(before); });
  }
  // Something else to do: free what was allocated, say.
  template <class Action>
  void on_race(Action action) {
    actions_.emplace_back(std::move(action));
  }
  void roll_back() {
    while (!actions_.empty()) {
      const std::function<void()> action = std::move(actions_.back());
      actions_.pop_back();
      action();
    }
  }

 private:
  std::vector<std::function<void()>> actions_;
};

// Runs block(undo) until it ends without a race, at most `attempts` times; before each but the first, between(attempt), from 1. How many
// attempts it took. The last data_race_error is thrown on if none was good; any exception leaves everything as it was kept.
template <class Block, class Between>
int retry_on_race(int attempts, Block block, Between between) {
  for (int attempt = 1;; ++attempt) {
    undo_log undo;
    try {
      block(undo);
      return attempt;
    } catch (const data_race_error&) {
      undo.roll_back();
      if (attempt >= attempts) throw;
    } catch (...) {
      undo.roll_back();
      throw;
    }
    between(attempt);
  }
}

// First without the lock, then with it. True: the lock was not needed.
template <class Lock, class Block>
bool optimistically(Lock& lock, Block block) {
  std::unique_lock<Lock> guard(lock, std::defer_lock);
  return retry_on_race(2, block, [&guard](int) { guard.lock(); }) == 1;
}

}  // namespace redflag

#endif
