// An exception has left three frames: they are not in the chain of what comes after.
#include <pthread.h>

#include "invisible.h"

int value;
int other;

NOINLINE void Throw(int what) {
  ++other;
  if (what > 0) throw what;
}
NOINLINE void Through(int what) {
  Throw(what);
  ++other;
}
NOINLINE void Further(int what) {
  Through(what);
  ++other;
}

NOINLINE void Store() {
  value = 1;  // RACE(value) CHAIN(value): Store < Worker
}

void* Worker(void*) {
  for (int i = 1; i < 4; ++i) {
    try {
      Further(i);
    } catch (int what) {
      USE(what);
    }
  }
  Store();
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
