// Times of all slots are used up again and again while four threads go on to use everything that orders: nothing is invented when
// the runtime begins to count anew.
// OPTIONS: slot_times=16
// STD: c++20
// NORACE
#include <atomic>
#include <barrier>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

namespace {

constexpr int kThreads = 4;
constexpr int kRounds = 6000;

std::mutex mutex;
std::shared_mutex shared_mutex;
std::condition_variable changed;
std::barrier<> all(kThreads);
std::atomic<int*> handed_on{nullptr};

long counter;
long table[64];
long parts[kThreads];
int turn;

void Work(int self) {
  for (int round = 0; round < kRounds; ++round) {
    {
      std::lock_guard<std::mutex> guard(mutex);
      ++counter;
    }
    if (round % 10 == 0) {
      std::lock_guard<std::shared_mutex> guard(shared_mutex);
      table[round % 64] += self;
    } else {
      std::shared_lock<std::shared_mutex> guard(shared_mutex);
      if (table[0] == -1) return;
    }
    parts[self] += round;
    if (int* mine = handed_on.exchange(nullptr, std::memory_order_acq_rel)) {
      ++*mine;
      delete mine;
    }
    int* next = new int(round);
    *next += self;
    delete handed_on.exchange(next, std::memory_order_acq_rel);
    if (round % 500 == 0) {
      all.arrive_and_wait();
      long sum = 0;
      for (const long part : parts) sum += part;
      all.arrive_and_wait();
      parts[self] -= sum % 2;
      std::thread child([&] { parts[self] += sum; });
      child.join();
    }
    if (round % 100 == self) {
      std::unique_lock<std::mutex> guard(mutex);
      ++turn;
      changed.notify_all();
    }
  }
}

void WaitForTurns() {
  std::unique_lock<std::mutex> guard(mutex);
  changed.wait(guard, [] { return turn == kThreads * kRounds / 100; });
}

}  // namespace

int main() {
  std::vector<std::thread> threads;
  threads.emplace_back(WaitForTurns);
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(Work, i);
  for (std::thread& thread : threads) thread.join();
  delete handed_on.load(std::memory_order_acquire);
  return counter == long{kThreads} * kRounds ? 0 : 1;
}
