// A field of width zero ends the memory location: the two bit-fields are independent ([intro.memory]/3).
// NORACE
#include <pthread.h>

#include "invisible.h"

struct Flags {
  unsigned ready : 3;
  unsigned : 0;
  unsigned done : 5;
} flags;

void* Worker(void*) {
  flags.ready = 1;
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  flags.done = 1;
  pthread_join(thread, nullptr);
}
