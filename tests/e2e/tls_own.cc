// Each thread has its own thread-local variable, also where a new thread's lies where an ended one's was.
// NORACE
#include <pthread.h>

#include "invisible.h"

thread_local int mine;

void* Worker(void*) {
  for (int i = 0; i < 10; ++i) mine += i;
  USE(mine);
  return nullptr;
}

int main() {
  for (int round = 0; round < 4; ++round) {
    pthread_t threads[2];
    for (pthread_t& thread : threads) pthread_create(&thread, nullptr, Worker, nullptr);
    for (pthread_t thread : threads) pthread_join(thread, nullptr);
  }
}
