// Eight threads read, then one writes: a race with every one of them.
#include <pthread.h>

#include "invisible.h"

int value;

void* Reader(void*) {
  USE(value);  // RACE(value) CHAIN(value): Reader
  Arrive();
  Await(9);
  return nullptr;
}

int main() {
  pthread_t threads[8];
  for (pthread_t& thread : threads) pthread_create(&thread, nullptr, Reader, nullptr);
  Await(8);
  value = 1;  // RACE(value) CHAIN(value): main
  Arrive();
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
}
