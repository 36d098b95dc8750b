// An object is published by a plain pointer, and another thread waits for that (ThreadSanitizer 6.3.4).
// PATTERN(object): publication without barrier
// RANK(object): high
// VARIABLE(object): object
// PATTERN(value): unsynchronized access
// RANK(value): medium
// VARIABLE(value): place.value
#include <pthread.h>
#include <unistd.h>

#include "invisible.h"

struct Object {
  int value;
};

Object place;
Object* object;

void* Worker(void*) {
  place.value = 1;  // RACE(value) CHAIN(value): Worker
  object = &place;  // RACE(object) CHAIN(object): Worker
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  const Object* seen;
  while ((seen = object) == nullptr) usleep(1000);  // RACE(object) CHAIN(object): main
  USE(seen->value);                                 // RACE(value) CHAIN(value): main
  pthread_join(thread, nullptr);
}
