// A plain relaxed store of another thread ends the release sequence ([intro.races]/5).
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

void* Middle(void*) {
  Await(1);
  flag.store(2, std::memory_order_relaxed);
  Arrive();
  return nullptr;
}

int main() {
  pthread_t sender;
  pthread_t middle;
  pthread_create(&sender, nullptr, Sender, nullptr);
  pthread_create(&middle, nullptr, Middle, nullptr);
  Await(2);
  if (flag.load(std::memory_order_acquire) != 2) abort();
  ++payload;  // RACE(payload) CHAIN(payload): main
  pthread_join(sender, nullptr);
  pthread_join(middle, nullptr);
}
