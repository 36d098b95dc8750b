// A flag that is loaded with too weak an order.
// SEEN(data): T1 stores to ready with memory_order_release at seen_weak_load.cc:14, and main loads it with memory_order_relaxed at seen_weak_load.cc:21: such a load takes nothing over
#include <pthread.h>

#include <atomic>

#include "invisible.h"

std::atomic<int> ready;
int data;

void* Worker(void*) {
  data = 1;  // RACE(data) CHAIN(data): Worker
  ready.store(1, std::memory_order_release);
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  while (ready.load(std::memory_order_relaxed) == 0) sched_yield();
  USE(data);  // RACE(data) CHAIN(data): main
  pthread_join(thread, nullptr);
}
