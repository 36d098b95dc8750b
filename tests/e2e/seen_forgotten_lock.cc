// What is done to the variable after the race shows which of the two is the exception.
// SEEN(value): 15 of 16 accesses that were seen hold mutex; not the read at seen_forgotten_lock.cc:40
// OPTIONS: watch_ms=10000
#include <pthread.h>

#include "invisible.h"

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int value;

NOINLINE void Set(int to) {
  pthread_mutex_lock(&mutex);
  value = to;  // RACE(value) CHAIN(value): Set < Worker
  pthread_mutex_unlock(&mutex);
}

void* Worker(void*) {
  Set(1);
  Arrive();
  for (int i = 0; i < 10; ++i) {
    Await(2 * i + 2);
    Set(i);
    Arrive();
  }
  return nullptr;
}

void GoOn() {
  for (int i = 0; i < 10; ++i) {
    Set(i);
    Arrive();
    Await(2 * i + 3);
  }
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  USE(value);  // RACE(value) CHAIN(value): main
  GoOn();
  pthread_join(thread, nullptr);
}
