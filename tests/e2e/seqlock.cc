// A seqlock as the standard wants it: the data are atomic, relaxed, between fences: no access is in a race.
// NORACE
#include <pthread.h>

#include <atomic>

#include "invisible.h"

std::atomic<unsigned> sequence;
std::atomic<int> first;
std::atomic<int> second;

void* Writer(void*) {
  for (int i = 1; i <= 20; ++i) {
    const unsigned begin = sequence.load(std::memory_order_relaxed);
    sequence.store(begin + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    first.store(i, std::memory_order_relaxed);
    second.store(i, std::memory_order_relaxed);
    sequence.store(begin + 2, std::memory_order_release);
  }
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Writer, nullptr);
  for (int reads = 0; reads < 20;) {
    const unsigned before = sequence.load(std::memory_order_acquire);
    const int one = first.load(std::memory_order_relaxed);
    const int two = second.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (before % 2 != 0 || sequence.load(std::memory_order_relaxed) != before) continue;
    if (one != two) abort();
    ++reads;
  }
  pthread_join(thread, nullptr);
}
