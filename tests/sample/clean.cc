// No race: data under a lock, data that is atomic in every way there is, data of one thread after the other.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

std::mutex mutex;
long locked[64];
std::atomic<long> counter;
std::atomic<int> flag;
std::atomic<bool> done;
std::atomic<long*> pointer;

static void Work(int number) {
  long own[64] = {};
  while (!done.load(std::memory_order_relaxed)) {
    {
      const std::lock_guard lock(mutex);
      for (long& each : locked) each += number;
    }
    counter.fetch_add(1, std::memory_order_relaxed);
    flag.store(number, std::memory_order_release);
    if (flag.load(std::memory_order_acquire) == 100) std::puts("never");
    pointer.store(&locked[number % 64], std::memory_order_relaxed);
    for (long& each : own) each += counter.load();
    if (pointer.load() == nullptr) std::puts("never");
  }
}

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(Work, i + 1);
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  done = true;
  for (std::thread& thread : threads) thread.join();
  std::puts("clean");
  return 0;
}
