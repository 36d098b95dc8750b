// Suppressions from a file: by file and at the top only; what they do not name is reported.
// OPTIONS: suppressions={here}/suppressions.txt
#include <pthread.h>

#include "invisible.h"

int unwanted;
int below;
int wanted;

NOINLINE void Unwanted() { unwanted = 1; }

NOINLINE void Store() {
  below = 1;  // RACE(below) CHAIN(below): Store < NotAtTheTop < Worker
}
NOINLINE void NotAtTheTop() {
  Store();
  USE(1);
}

void* Worker(void*) {
  Unwanted();
  NotAtTheTop();
  wanted = 1;  // RACE(wanted) CHAIN(wanted): Worker
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  USE(unwanted);
  USE(below);   // RACE(below) CHAIN(below): main
  USE(wanted);  // RACE(wanted) CHAIN(wanted): main
  pthread_join(thread, nullptr);
}
