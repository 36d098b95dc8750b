// Dekker's entry excludes the other, but the way out is relaxed: what was done inside is not released.
#include <pthread.h>

#include <atomic>

#include "invisible.h"

std::atomic<int> wants[2];
int shared_value;

NOINLINE bool TryEnter(int me) {
  wants[me].store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return wants[1 - me].load(std::memory_order_acquire) == 0;
}

void* First(void*) {
  if (!TryEnter(0)) abort();
  shared_value = 1;  // RACE(value) CHAIN(value): First
  wants[0].store(0, std::memory_order_relaxed);
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, First, nullptr);
  Await(1);
  if (!TryEnter(1)) abort();
  shared_value = 2;  // RACE(value) CHAIN(value): main
  pthread_join(thread, nullptr);
}
