// A trylock that fails acquires nothing; the one that succeeds does.
#include <pthread.h>

#include "invisible.h"

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int early;
int late;

void* Worker(void*) {
  pthread_mutex_lock(&mutex);
  early = 1;  // RACE(early) CHAIN(early): Worker
  late = 1;
  Arrive();
  Await(2);
  pthread_mutex_unlock(&mutex);
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  if (pthread_mutex_trylock(&mutex) == 0) abort();
  early = 2;  // RACE(early) CHAIN(early): main
  Arrive();
  Await(3);
  if (pthread_mutex_trylock(&mutex) != 0) abort();
  late = 2;
  pthread_mutex_unlock(&mutex);
  pthread_join(thread, nullptr);
}
