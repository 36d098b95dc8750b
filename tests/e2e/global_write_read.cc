// A thread writes, another reads later in time only.
// PATTERN(ready): unsynchronized access
// RANK(ready): medium
// VARIABLE(ready): ready
#include <pthread.h>

#include "invisible.h"

int ready;

void* Writer(void*) {
  ready = 1;  // RACE(ready) CHAIN(ready): Writer
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Writer, nullptr);
  Await(1);
  USE(ready);  // RACE(ready) CHAIN(ready): main
  pthread_join(thread, nullptr);
}
