// What happens before the creation of a thread happens before its start; what comes after does not.
#include <pthread.h>

#include "invisible.h"

int before;
int after;

void* Worker(void*) {
  Await(1);
  ++before;
  ++after;  // RACE(after) CHAIN(after): Worker
  return nullptr;
}

int main() {
  before = 1;
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  after = 1;  // RACE(after) CHAIN(after): main
  Arrive();
  pthread_join(thread, nullptr);
}
