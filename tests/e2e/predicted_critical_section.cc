// The accesses are ordered in this run by a critical section that has nothing to do with them: had the other thread come first, they would
// race (ThreadSanitizer 4.4.1). hb sees the order of this run; goldilocks too.
// DETECTORS: hb goldilocks hybrid
// BY(value): hybrid
#include <pthread.h>

#include "invisible.h"

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int value;
int unrelated;

void Touch() {
  pthread_mutex_lock(&mutex);
  ++unrelated;
  pthread_mutex_unlock(&mutex);
}

void* First(void*) {
  value = 1;  // RACE(value) CHAIN(value): First
  Touch();
  Arrive();
  return nullptr;
}

void* Second(void*) {
  Await(1);
  Touch();
  value = 2;  // RACE(value) CHAIN(value): Second
  return nullptr;
}

int main() {
  pthread_t threads[2];
  pthread_create(&threads[0], nullptr, First, nullptr);
  pthread_create(&threads[1], nullptr, Second, nullptr);
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
}
