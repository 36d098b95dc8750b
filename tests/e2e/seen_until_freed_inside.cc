// As seen_until_freed.cc, of a variable that is far inside of the block that is freed.
// SEEN(value): 3 of 4 accesses that were seen hold mutex; not the read at seen_until_freed_inside.cc:30
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
  int* many = static_cast<int*>(malloc(1000 * sizeof(int)));
  value = many + 777;
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  USE(*value);  // RACE(value) CHAIN(value): main
  Set(2);
  Set(3);
  pthread_join(thread, nullptr);
  free(many);
  many = static_cast<int*>(malloc(1000 * sizeof(int)));
  int* other = many + 777;
  for (int i = 0; i < 20; ++i) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    *other = i;
    USE(*other);
  }
  free(many);
}
