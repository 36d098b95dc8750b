// No race: locks, atomics, condition variables, threads, the heap, and a status of its own.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

int main() {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> words;
  std::atomic<int> sum{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int j = 0; j < 250; ++j) {
        const std::lock_guard<std::mutex> guard(mutex);
        words.push_back(std::string(32, static_cast<char>('a' + i)));
        changed.notify_one();
      }
      sum.fetch_add(i, std::memory_order_release);
    });
  }
  {
    std::unique_lock<std::mutex> guard(mutex);
    changed.wait(guard, [&] { return words.size() == 1000; });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("%zu words, sum %d\n", words.size(), sum.load());
  return 7;
}
