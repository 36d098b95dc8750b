// Functions that the compiler inlines are frames of the chain, at every level of optimization.
#include <pthread.h>

#include "invisible.h"

int value;

static ALWAYS_INLINE void Inner(int by) {
  value += by;  // RACE(value) CHAIN(value): Inner < Middle < Outer < Worker
}
static ALWAYS_INLINE void Middle(int by) { Inner(by + 1); }
static ALWAYS_INLINE void Outer(int by) { Middle(by + 1); }

void* Worker(void*) {
  Outer(1);
  Arrive();
  return nullptr;
}

static inline int Look() {
  return value;  // RACE(value) CHAIN(value): Look < main
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  USE(Look());
  pthread_join(thread, nullptr);
}
