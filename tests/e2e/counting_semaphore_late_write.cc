// What a thread does after its release is not ordered before the acquire.
// STD: c++20
#include <pthread.h>

#include <semaphore>

#include "invisible.h"

std::counting_semaphore<2> semaphore(0);
int value;

void* Worker(void*) {
  semaphore.release();
  value = 1;  // RACE(value) CHAIN(value): Worker
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  semaphore.acquire();
  Await(1);
  value = 2;  // RACE(value) CHAIN(value): main
  pthread_join(thread, nullptr);
}
