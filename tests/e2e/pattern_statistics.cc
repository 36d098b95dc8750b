// Counters that only grow (DataCollider 3.3, RaceTrack Table 1 C): demoted, not dropped.
// PATTERN(hits): statistics counter
// RANK(hits): low
// VARIABLE(hits): hits
// PATTERN(misses): statistics counter
// RANK(misses): low
// VARIABLE(misses): misses
#include <pthread.h>

#include "invisible.h"

long hits;
long misses;

NOINLINE void Lookup() {
  // CHAIN(hits): Lookup < Worker
  // CHAIN(hits): Lookup < main
  hits++;  // RACE(hits)
}

void* Worker(void*) {
  Lookup();
  misses += 2;  // RACE(misses) CHAIN(misses): Worker
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  Lookup();
  USE(misses);  // RACE(misses) CHAIN(misses): main
  pthread_join(thread, nullptr);
}
