// Whoever comes first makes the object, and nothing says who that is (ThreadSanitizer 6.3.5, RaceTrack Table 1 H).
// PATTERN(object): lazy initialisation
// RANK(object): high
// VARIABLE(object): object
#include <pthread.h>

#include "invisible.h"

int* object;

NOINLINE void Initialize() {
  // CHAIN(object): Initialize < main
  if (object == nullptr) {  // RACE(object)
    object = new int(1);    // RACE(object) CHAIN(object): Initialize < Worker
  }
}

void* Worker(void*) {
  Initialize();
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  Initialize();
  pthread_join(thread, nullptr);
}
