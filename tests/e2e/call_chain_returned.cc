// Functions that have returned are not in the chain.
#include <pthread.h>

#include "invisible.h"

int value;
int other;

NOINLINE void Before(int depth) {
  if (depth > 0) Before(depth - 1);
  ++other;
}

NOINLINE void Store() {
  value = 1;  // RACE(value) CHAIN(value): Store < Worker
}

void* Worker(void*) {
  Before(5);
  Store();
  Before(7);
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  USE(value);  // RACE(value) CHAIN(value): main
  pthread_join(thread, nullptr);
}
