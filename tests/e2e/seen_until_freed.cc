// What is done to memory after it was freed is another variable's business.
// SEEN(value): 3 of 4 accesses that were seen hold mutex; not the read at seen_until_freed.cc:29
// OPTIONS: watch_ms=10000
#include <pthread.h>
#include <stdlib.h>

#include "invisible.h"

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int* value;

NOINLINE void Set(int to) {
  pthread_mutex_lock(&mutex);
  *value = to;  // RACE(value) CHAIN(value): Set < Worker
  pthread_mutex_unlock(&mutex);
}

void* Worker(void*) {
  Set(1);
  Arrive();
  return nullptr;
}

int main() {
  value = static_cast<int*>(malloc(40));
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  USE(*value);  // RACE(value) CHAIN(value): main
  Set(2);
  Set(3);
  pthread_join(thread, nullptr);
  free(value);
  int* other = static_cast<int*>(malloc(40));
  for (int i = 0; i < 20; ++i) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    *other = i;
    USE(*other);
  }
  free(other);
}
