// The same store is reached on two ways; the second one races.
#include <pthread.h>

#include "invisible.h"

int values[2];

NOINLINE void Store(int* where) {
  *where = 1;  // RACE(value) CHAIN(value): Store < Right < Worker
}
NOINLINE void Left() {
  Store(&values[0]);
  USE(1);
}
NOINLINE void Right() {
  Store(&values[1]);
  USE(2);
}

void* Worker(void*) {
  Left();
  Right();
  Left();
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  USE(values[1]);  // RACE(value) CHAIN(value): main
  pthread_join(thread, nullptr);
}
