// A plain read of what another thread changes atomically.
#include <pthread.h>

#include "invisible.h"

int counter;

void* Worker(void*) {
  __atomic_fetch_add(&counter, 1, __ATOMIC_SEQ_CST);  // RACE(counter) CHAIN(counter): Worker
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  USE(counter);  // RACE(counter) CHAIN(counter): main
  pthread_join(thread, nullptr);
}
