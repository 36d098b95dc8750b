// Two threads run the same increment without a lock: a line that races with itself.
#include <pthread.h>

#include "invisible.h"

int counter;

NOINLINE void Increment() {
  ++counter;  // RACE(counter) CHAIN(counter): Increment < Worker
}

void* Worker(void* turn) {
  Await(turn == nullptr ? 0 : 1);
  Increment();
  Arrive();
  return nullptr;
}

int main() {
  pthread_t first;
  pthread_t second;
  pthread_create(&first, nullptr, Worker, nullptr);
  pthread_create(&second, nullptr, Worker, &counter);
  pthread_join(first, nullptr);
  pthread_join(second, nullptr);
}
