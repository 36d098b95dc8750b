// A detached thread that tells of its end by a release store.
// NORACE
#include <pthread.h>

#include <atomic>

#include "invisible.h"

std::atomic<bool> done;
int result;

void* Worker(void*) {
  result = 1;
  done.store(true, std::memory_order_release);
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  pthread_detach(thread);
  while (!done.load(std::memory_order_acquire)) usleep(100);
  ++result;
}
