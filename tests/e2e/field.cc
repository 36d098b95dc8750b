// A field of an element of an array in a struct; the lock that one side holds is a field too.
// VARIABLE(hits): pool.slots[5].counters.hits
// PLACE: global
#include <pthread.h>

#include <mutex>

#include "invisible.h"

struct Counters {
  long misses;
  long hits;
};
struct Slot {
  char name[12];
  Counters counters;
};
struct Base {
  long generation;
};
struct Pool : Base {
  std::mutex mutex;
  Slot slots[8];
};
Pool pool;

void* Worker(void*) {
  const std::lock_guard lock(pool.mutex);
  ++pool.slots[5].counters.hits;  // RACE(hits) CHAIN(hits): Worker
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  pool.slots[5].counters.hits = 0;  // RACE(hits) CHAIN(hits): main
  pthread_join(thread, nullptr);
}
