// A relaxed read-modify-write of another thread continues the release sequence ([intro.races]/5).
// NORACE
#include <pthread.h>

#include <atomic>

#include "invisible.h"

std::atomic<int> flag;
int payload;

void* Sender(void*) {
  payload = 42;
  flag.store(1, std::memory_order_release);
  Arrive();
  return nullptr;
}

void* Middle(void*) {
  Await(1);
  flag.fetch_add(1, std::memory_order_relaxed);
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
  ++payload;
  pthread_join(sender, nullptr);
  pthread_join(middle, nullptr);
}
