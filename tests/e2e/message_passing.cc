// A release store that is read by an acquire load orders the payload ([atomics.order]/2).
// NORACE
#include <pthread.h>

#include <atomic>

#include "invisible.h"

std::atomic<int> flag;
int payload;

void* Sender(void*) {
  payload = 42;
  flag.store(1, std::memory_order_release);
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Sender, nullptr);
  while (flag.load(std::memory_order_acquire) == 0) usleep(100);
  ++payload;
  pthread_join(thread, nullptr);
}
