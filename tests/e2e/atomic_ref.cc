// Every access while threads run goes through atomic_ref.
// NORACE
// STD: c++20
#include <pthread.h>

#include <atomic>

#include "invisible.h"

int counter;

void* Worker(void*) {
  for (int i = 0; i < 20; ++i) std::atomic_ref<int>(counter).fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

int main() {
  counter = 1;
  pthread_t threads[2];
  for (pthread_t& thread : threads) pthread_create(&thread, nullptr, Worker, nullptr);
  USE(std::atomic_ref<int>(counter).load());
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  return counter == 41 ? 0 : 1;
}
