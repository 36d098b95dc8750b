// A compare-exchange that fails is a load with the failure order: relaxed here, whatever the order of success.
#include <pthread.h>

#include <atomic>

#include "invisible.h"

std::atomic<int> flag;
int payload;

void* Sender(void*) {
  payload = 42;  // RACE(payload) CHAIN(payload): Sender
  flag.store(1, std::memory_order_release);
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Sender, nullptr);
  Await(1);
  int expected = 0;
  if (flag.compare_exchange_strong(expected, 2, std::memory_order_acq_rel, std::memory_order_relaxed)) abort();
  USE(payload);  // RACE(payload) CHAIN(payload): main
  pthread_join(thread, nullptr);
}
