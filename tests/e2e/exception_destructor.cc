// A destructor that runs while an exception unwinds is called by the frame that it cleans up.
#include <pthread.h>

#include "invisible.h"

int value;

struct Guard {
  NOINLINE ~Guard() {
    value = 1;  // RACE(value) CHAIN(value): ~Guard < Guarded < Worker
  }
};

NOINLINE void Throw() { throw 1; }

NOINLINE void Guarded() {
  Guard guard;
  Throw();
}

void* Worker(void*) {
  try {
    Guarded();
  } catch (int) {
  }
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
