// 10,000 threads, each joined before the next starts: all their writes are ordered.
// NORACE
#include <pthread.h>

#include "invisible.h"

int counter;

void* Worker(void*) {
  ++counter;
  return nullptr;
}

int main() {
  for (int i = 0; i < 10000; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, Worker, nullptr) != 0) abort();
    pthread_join(thread, nullptr);
  }
  return counter == 10000 ? 0 : 1;
}
