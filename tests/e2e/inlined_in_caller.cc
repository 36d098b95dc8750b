// A frame in the middle of the chain is inlined: the call is in the inlined function's body.
#include <pthread.h>

#include "invisible.h"

int value;

NOINLINE void Store(int by) {
  value += by;  // RACE(value) CHAIN(value): Store < Twice < Again < Worker
}
static ALWAYS_INLINE void Twice(int by) { Store(by * 2); }
NOINLINE void Again(int by) {
  Twice(by + 1);
  USE(by);
}

void* Worker(void*) {
  Again(1);
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
