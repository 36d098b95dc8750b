// The spin lock is left with a relaxed store: it excludes, but hands nothing on.
#include <pthread.h>

#include <atomic>

#include "invisible.h"

std::atomic_flag locked = ATOMIC_FLAG_INIT;
int counter;

void* Worker(void*) {
  while (locked.test_and_set(std::memory_order_acquire)) usleep(100);
  ++counter;  // RACE(counter) CHAIN(counter): Worker
  locked.clear(std::memory_order_relaxed);
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  while (locked.test_and_set(std::memory_order_acquire)) usleep(100);
  ++counter;  // RACE(counter) CHAIN(counter): main
  locked.clear(std::memory_order_release);
  pthread_join(thread, nullptr);
}
