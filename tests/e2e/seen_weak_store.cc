// A flag that is stored with too weak an order.
// SEEN(data): nothing that T1 did has come to main
// SEEN(data): T1 stores to ready with memory_order_relaxed at seen_weak_store.cc:15, and main loads it with memory_order_acquire at seen_weak_store.cc:22: such a store hands nothing on
#include <pthread.h>

#include <atomic>

#include "invisible.h"

std::atomic<int> ready;
int data;

void* Worker(void*) {
  data = 1;  // RACE(data) CHAIN(data): Worker
  ready.store(1, std::memory_order_relaxed);
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  while (ready.load(std::memory_order_acquire) == 0) sched_yield();
  USE(data);  // RACE(data) CHAIN(data): main
  pthread_join(thread, nullptr);
}
