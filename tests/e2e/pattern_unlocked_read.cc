// Writes are locked, reads are not (RaceTrack Table 1 D); so is a cache that readers just look into (F).
// PATTERN(state): unlocked read
// RANK(state): medium
// VARIABLE(state): state
// PATTERN(cache): unlocked read
// RANK(cache): medium
// VARIABLE(cache): cache.key
#include <pthread.h>

#include "invisible.h"

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int state;
struct Cache {
  int key;
  int value;
} cache;

NOINLINE void Remember(int key) {
  pthread_mutex_lock(&mutex);
  cache.key = key;  // RACE(cache) CHAIN(cache): Remember < Worker
  pthread_mutex_unlock(&mutex);
}

NOINLINE int Lookup(int key) {
  if (cache.key == key) return cache.value;  // RACE(cache) CHAIN(cache): Lookup < main
  return 0;
}

void* Worker(void*) {
  pthread_mutex_lock(&mutex);
  state = 1;  // RACE(state) CHAIN(state): Worker
  pthread_mutex_unlock(&mutex);
  Remember(1);
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  USE(state);  // RACE(state) CHAIN(state): main
  USE(Lookup(2));
  pthread_join(thread, nullptr);
}
