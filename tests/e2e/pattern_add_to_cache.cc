// Figure 4 of DataCollider: both threads write the same value, and it is a bug all the same: in between, the other's bit is gone.
// PATTERN(x): flag updates overwrite each other
// RANK(x): high
// VARIABLE(x): x
#include <pthread.h>

#include "invisible.h"

constexpr unsigned kNotDeleted = 1;
constexpr unsigned kCached = 2;
unsigned x = kNotDeleted;

NOINLINE void AddToCache() {
  // CHAIN(x): AddToCache < Worker
  // CHAIN(x): AddToCache < main
  x &= ~kNotDeleted;  // RACE(x)
  __asm__ volatile("" : : : "memory");
  x |= kCached;
}

void* Worker(void*) {
  AddToCache();
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  AddToCache();
  pthread_join(thread, nullptr);
}
