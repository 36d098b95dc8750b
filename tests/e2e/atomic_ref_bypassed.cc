// One thread uses atomic_ref, the other the object itself ([atomics.ref.generic.general]/3).
// STD: c++20
#include <pthread.h>

#include <atomic>

#include "invisible.h"

int counter;

void* Worker(void*) {
  std::atomic_ref<int> reference(counter);
  reference.store(1);  // RACE(counter) CHAIN(counter): Worker
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  counter = 2;  // RACE(counter) CHAIN(counter): main
  pthread_join(thread, nullptr);
}
