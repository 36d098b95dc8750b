// A write after count_down is not ordered before the waiter.
// STD: c++20
#include <pthread.h>

#include <latch>

#include "invisible.h"

std::latch done(1);
int result;

void* Worker(void*) {
  done.count_down();
  result = 1;  // RACE(result) CHAIN(result): Worker
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  done.wait();
  Await(1);
  ++result;  // RACE(result) CHAIN(result): main
  pthread_join(thread, nullptr);
}
