// One of two writers forgot the lock.
// PATTERN(value): forgotten lock
// RANK(value): high
// VARIABLE(value): value
#include <pthread.h>

#include "invisible.h"

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int value;

void* Worker(void*) {
  pthread_mutex_lock(&mutex);
  value = 1;  // RACE(value) CHAIN(value): Worker
  pthread_mutex_unlock(&mutex);
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
