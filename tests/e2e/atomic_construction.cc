// The constructor of an atomic is not atomic: publishing it relaxed leaves it in a race with the first operation.
#include <pthread.h>

#include <atomic>

#include "invisible.h"

std::atomic<std::atomic<int>*> published;

void* Worker(void*) {
  std::atomic<int>* fresh = new std::atomic<int>(5);  // RACE(fresh) CHAIN(fresh): Worker
  published.store(fresh, std::memory_order_relaxed);
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  published.load(std::memory_order_acquire)->fetch_add(1);  // RACE(fresh) CHAIN(fresh): main
  pthread_join(thread, nullptr);
}
