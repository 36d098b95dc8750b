// Both accesses are in a shared library that was built for race detection, too.
// LIBRARY: lib/counter.cc
#include <pthread.h>

#include "invisible.h"
#include "lib/counter.h"

void* Worker(void*) {
  CountUp();
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  USE(CountNow());
  pthread_join(thread, nullptr);
}
