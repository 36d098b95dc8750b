// A seqlock with plain data is a race even if the reader throws away what it read ([intro.races]/21).
#include <pthread.h>

#include <atomic>

#include "invisible.h"

std::atomic<unsigned> sequence;
int data;

void* Reader(void*) {
  const unsigned before = sequence.load(std::memory_order_acquire);
  USE(data);  // RACE(data) CHAIN(data): Reader
  Arrive();
  Await(2);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (sequence.load(std::memory_order_relaxed) == before) abort();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Reader, nullptr);
  Await(1);
  sequence.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  data = 1;  // RACE(data) CHAIN(data): main
  sequence.store(2, std::memory_order_release);
  Arrive();
  pthread_join(thread, nullptr);
}
