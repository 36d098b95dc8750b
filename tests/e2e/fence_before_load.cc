// The acquire fence comes before the load that reads the flag: it acquires nothing from it.
#include <pthread.h>

#include <atomic>

#include "invisible.h"

std::atomic<int> flag;
int payload;

void* Sender(void*) {
  payload = 42;  // RACE(payload) CHAIN(payload): Sender
  std::atomic_thread_fence(std::memory_order_release);
  flag.store(1, std::memory_order_relaxed);
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Sender, nullptr);
  Await(1);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (flag.load(std::memory_order_relaxed) != 1) abort();
  USE(payload);  // RACE(payload) CHAIN(payload): main
  pthread_join(thread, nullptr);
}
