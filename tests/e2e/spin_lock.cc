// A spin lock made of an atomic_flag: acquire in, release out.
// NORACE
#include <pthread.h>

#include <atomic>

#include "invisible.h"

std::atomic_flag locked = ATOMIC_FLAG_INIT;
int counter;

void* Worker(void*) {
  for (int i = 0; i < 20; ++i) {
    while (locked.test_and_set(std::memory_order_acquire)) usleep(100);
    ++counter;
    locked.clear(std::memory_order_release);
  }
  return nullptr;
}

int main() {
  pthread_t threads[3];
  for (pthread_t& thread : threads) pthread_create(&thread, nullptr, Worker, nullptr);
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
}
