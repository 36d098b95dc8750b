// 500 threads alive at the same time; the last one writes what the first one wrote.
#include <pthread.h>

#include "invisible.h"

int value;

void* First(void*) {
  value = 1;  // RACE(value) CHAIN(value): First
  Arrive();
  Await(500);
  return nullptr;
}

void* Idle(void*) {
  Arrive();
  Await(500);
  return nullptr;
}

void* Last(void*) {
  Await(499);
  value = 2;  // RACE(value) CHAIN(value): Last
  Arrive();
  return nullptr;
}

int main() {
  static pthread_t threads[500];
  for (int i = 0; i < 500; ++i) {
    if (pthread_create(&threads[i], nullptr, i == 0 ? First : i == 499 ? Last : Idle, nullptr) != 0) abort();
  }
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
}
