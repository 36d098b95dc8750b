// Adjacent bit-fields are one memory location ([intro.memory]/3): writing one rewrites the other.
// PATTERN(flags): bit-field neighbours
// RANK(flags): high
// VARIABLE(flags): flags
#include <pthread.h>

#include "invisible.h"

struct Flags {
  unsigned ready : 3;
  unsigned done : 5;
} flags;

void* Worker(void*) {
  flags.ready = 1;  // RACE(flags) CHAIN(flags): Worker
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  flags.done = 1;  // RACE(flags) CHAIN(flags): main
  pthread_join(thread, nullptr);
}
