// The load of the flag is relaxed: what was released is not acquired.
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
  if (flag.load(std::memory_order_relaxed) != 1) abort();
  USE(payload);  // RACE(payload) CHAIN(payload): main
  pthread_join(thread, nullptr);
}
