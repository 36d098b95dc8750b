// A local variable of the function that a thread starts with: the thread sits in that function, in no call that is watched.
// PLACE: stack T1
// VARIABLE(progress): progress
#include <pthread.h>

#include "invisible.h"

int* leaked;

NOINLINE void Leak(int* progress) { __atomic_store_n(&leaked, progress, __ATOMIC_RELAXED); }
NOINLINE void Set(int* progress) {
  // CHAIN(progress): Set < Work
  // CHAIN(progress): Set < main
  *progress = 1;  // RACE(progress)
}

void* Work(void*) {
  int progress;  // LOCAL(progress): Work
  Leak(&progress);
  Set(&progress);
  Arrive();
  Await(2);
  USE(progress);
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Work, nullptr);
  Await(1);
  Set(__atomic_load_n(&leaked, __ATOMIC_RELAXED));
  Arrive();
  pthread_join(thread, nullptr);
}
