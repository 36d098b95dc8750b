// A 16-byte object.
#include <pthread.h>

#include "invisible.h"

__int128 value;

void* Worker(void*) {
  value = 1;  // RACE(value) CHAIN(value): Worker
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  value = 2;  // RACE(value) CHAIN(value): main
  pthread_join(thread, nullptr);
}
