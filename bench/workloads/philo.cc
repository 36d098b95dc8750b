// Dining philosophers.
//
// The size is the number of meals, shared out among the philosophers, who are the threads. The table is a monitor: one
// mutex guards which forks are taken, and every philosopher has a condition variable on which to wait for both
// neighbours. What is done to a fork while it is held is done outside the mutex: only the protocol of the monitor
// protects it, no lock.
#include <algorithm>
#include <bit>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "workload.h"

namespace {

constexpr int kThoughts = 300;  // before each meal
constexpr int kBites = 100;

struct Fork {
  uint64_t bites = 0;
  uint64_t taste = 0;

  void Bite(uint64_t morsel) {
    ++bites;
    taste += morsel;
  }
};

class Table {
 public:
  explicit Table(size_t seats) : forks_(seats), taken_(seats), seats_(seats) {}

  Fork& Left(size_t seat) { return forks_[seat]; }
  Fork& Right(size_t seat) { return forks_[Next(seat)]; }

  void TakeForks(size_t seat) {
    std::unique_lock lock(mutex_);
    seats_[seat].hungry = true;
    seats_[seat].may_eat.wait(lock, [&] { return !taken_[seat] && !taken_[Next(seat)]; });
    seats_[seat].hungry = false;
    taken_[seat] = taken_[Next(seat)] = true;
  }

  void PutForksBack(size_t seat) {
    const std::lock_guard lock(mutex_);
    taken_[seat] = taken_[Next(seat)] = false;
    for (const size_t neighbour : {Next(seat), Previous(seat)})
      if (seats_[neighbour].hungry) seats_[neighbour].may_eat.notify_one();
  }

  const std::vector<Fork>& forks() const { return forks_; }  // once everybody has left

 private:
  struct Seat {
    std::condition_variable may_eat;
    bool hungry = false;  // guarded by mutex_
  };

  size_t Next(size_t seat) const { return (seat + 1) % forks_.size(); }
  size_t Previous(size_t seat) const { return (seat + forks_.size() - 1) % forks_.size(); }

  std::mutex mutex_;
  std::vector<Fork> forks_;  // each touched by whoever holds it
  std::vector<bool> taken_;  // [i]: is fork i; guarded by mutex_
  std::vector<Seat> seats_;
};

// What a philosopher thinks up and then eats depends on the meal alone.
uint64_t Think(uint64_t meal) {
  workload::Random random(meal);
  uint64_t idea = 0;
  for (int i = 0; i < kThoughts; ++i) idea ^= random.Next();
  return idea;
}

void Eat(uint64_t idea, Fork& left, Fork& right) {
  for (int i = 0; i < kBites; ++i) {
    const uint64_t morsel = std::rotl(idea, i);
    left.Bite(morsel);
    right.Bite(5 * morsel);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const workload::Options options = workload::Parse(argc, argv, {.threads = 4, .size = 600'000});
  Table table(static_cast<size_t>(std::max(options.threads, 2)));  // nobody eats with one fork
  workload::InParallel(options.threads, [&](int thread) {
    const auto seat = static_cast<size_t>(thread);
    const auto [begin, end] = workload::ShareOf(options.size, thread, options.threads);
    for (uint64_t meal = begin; meal < end; ++meal) {
      const uint64_t idea = Think(meal);
      table.TakeForks(seat);
      Eat(idea, table.Left(seat), table.Right(seat));
      table.PutForksBack(seat);
    }
  });

  Fork all;
  for (const Fork& fork : table.forks()) {
    all.bites += fork.bites;
    all.taste += fork.taste;
  }
  workload::Checksum checksum;
  checksum.Add(all.bites);
  checksum.Add(all.taste);
  return workload::Finish("philo", checksum.Value());
}
