// A parameter of a function, which another thread has the address of.
// PLACE: stack T1
// VARIABLE(count): count
#include <pthread.h>

#include "invisible.h"

long* leaked;

NOINLINE void Leak(long* count) { __atomic_store_n(&leaked, count, __ATOMIC_RELEASE); }
NOINLINE void Set(long* count) {
  // CHAIN(count): Set < Count < Start
  // CHAIN(count): Set < main
  *count = 2;  // RACE(count)
}

NOINLINE void Count(long count) {  // LOCAL(count): Count
  Leak(&count);
  Set(&count);
  Arrive();
  Await(2);
  USE(count);
}

void* Start(void* count) {
  Count(reinterpret_cast<long>(count));
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Start, &thread);
  Await(1);
  Set(__atomic_load_n(&leaked, __ATOMIC_RELAXED));
  Arrive();
  pthread_join(thread, nullptr);
}
