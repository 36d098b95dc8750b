// Without the second wait the next round's write meets the reads of this one.
#include <pthread.h>

#include "invisible.h"

pthread_barrier_t barrier;
int value;

void* Reader(void*) {
  pthread_barrier_wait(&barrier);
  USE(value);  // RACE(value) CHAIN(value): Reader
  Arrive();
  return nullptr;
}

int main() {
  pthread_barrier_init(&barrier, nullptr, 2);
  pthread_t thread;
  pthread_create(&thread, nullptr, Reader, nullptr);
  value = 1;
  pthread_barrier_wait(&barrier);
  Await(1);
  value = 2;  // RACE(value) CHAIN(value): main
  pthread_join(thread, nullptr);
  pthread_barrier_destroy(&barrier);
}
