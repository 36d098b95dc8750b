// Since C++20 a later relaxed store of the same thread ends the release sequence, too ([intro.races]/5).
#include <pthread.h>

#include <atomic>

#include "invisible.h"

std::atomic<int> flag;
int payload;

void* Sender(void*) {
  payload = 42;  // RACE(payload) CHAIN(payload): Sender
  flag.store(1, std::memory_order_release);
  flag.store(2, std::memory_order_relaxed);
  Arrive();
  return nullptr;
}

int main() {
  pthread_t sender;
  pthread_create(&sender, nullptr, Sender, nullptr);
  Await(1);
  if (flag.load(std::memory_order_acquire) != 2) abort();
  ++payload;  // RACE(payload) CHAIN(payload): main
  pthread_join(sender, nullptr);
}
