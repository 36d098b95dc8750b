// A static constructor starts a thread that is still there in main.
#include <pthread.h>

#include "invisible.h"

int value;

void* Worker(void*) {
  value = 1;  // RACE(value) CHAIN(value): Worker
  Arrive();
  return nullptr;
}

struct Starter {
  Starter() { pthread_create(&thread, nullptr, Worker, nullptr); }
  ~Starter() { pthread_join(thread, nullptr); }
  pthread_t thread;
} starter;

int main() {
  Await(1);
  value = 2;  // RACE(value) CHAIN(value): main
}
