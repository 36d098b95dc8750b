// A thread looks at the value without asking pthread_once.
#include <pthread.h>

#include "invisible.h"

pthread_once_t once = PTHREAD_ONCE_INIT;
int value;

NOINLINE void Initialize() {
  value = 1;  // RACE(value) CHAIN(value): Initialize < Worker
}

void* Worker(void*) {
  pthread_once(&once, Initialize);
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
