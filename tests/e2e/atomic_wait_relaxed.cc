// atomic::wait with relaxed order waits, but acquires nothing.
// STD: c++20
#include <pthread.h>

#include <atomic>

#include "invisible.h"

std::atomic<int> stage;
int payload;

void* Worker(void*) {
  payload = 1;  // RACE(payload) CHAIN(payload): Worker
  stage.store(1, std::memory_order_release);
  stage.notify_one();
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  stage.wait(0, std::memory_order_relaxed);
  Await(1);
  ++payload;  // RACE(payload) CHAIN(payload): main
  pthread_join(thread, nullptr);
}
