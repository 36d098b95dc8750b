// A call in tail position keeps its caller's frame in the chain.
#include <pthread.h>

#include "invisible.h"

int value;

NOINLINE int Last(int by) {
  return value += by;  // RACE(value) CHAIN(value): Last < Next < First < Worker
}
NOINLINE int Next(int by) { return Last(by + 2); }
NOINLINE int First(int by) { return Next(by + 3); }

void* Worker(void*) {
  USE(First(1));
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  USE(value);  // RACE(value) CHAIN(value): main
  pthread_join(thread, nullptr);
}
