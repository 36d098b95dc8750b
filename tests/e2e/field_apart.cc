// A static struct of which the program needs some fields: clang takes it apart at -O2, so that each field is a variable for the linker.
// VARIABLE(hits): statistics.latest.hits
// VARIABLE(misses): statistics.latest.misses
// PLACE: global
#include <pthread.h>

#include "invisible.h"

struct Counters {
  long hits;
  long misses;
};
static struct {
  Counters total;
  Counters latest;
} statistics;

void* Worker(void*) {
  statistics.latest.hits += 1;    // RACE(hits) CHAIN(hits): Worker
  statistics.latest.misses += 1;  // RACE(misses) CHAIN(misses): Worker
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  statistics.latest.hits += 2;    // RACE(hits) CHAIN(hits): main
  statistics.latest.misses += 2;  // RACE(misses) CHAIN(misses): main
  pthread_join(thread, nullptr);
}
