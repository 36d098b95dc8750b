// The ClearCache bug of RaceTrack 4.1.3: two threads register, each puts the other's registry back, and one callback is forgotten.
// PATTERN(registry): lost update
// RANK(registry): high
// VARIABLE(registry): registry
#include <pthread.h>

#include "invisible.h"

long registry;

NOINLINE long Combine(long callbacks, long callback) { return callbacks * 100 + callback; }

NOINLINE void Register(long callback) {
  // CHAIN(registry): Register < Worker
  // CHAIN(registry): Register < main
  registry = Combine(registry, callback);  // RACE(registry)
}

void* Worker(void*) {
  Register(1);
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  Register(2);
  pthread_join(thread, nullptr);
}
