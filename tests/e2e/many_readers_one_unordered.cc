// Seven of eight readers are joined before the write, in the middle one is not: it must not have been forgotten.
#include <pthread.h>

#include "invisible.h"

int value;

NOINLINE void Read() { USE(value); }

void* Joined(void*) {
  Read();
  Arrive();
  return nullptr;
}

void* Unordered(void*) {
  USE(value);  // RACE(value) CHAIN(value): Unordered
  Arrive();
  Await(9);
  return nullptr;
}

int main() {
  pthread_t threads[8];
  for (int i = 0; i < 8; ++i) {
    pthread_create(&threads[i], nullptr, i == 3 ? Unordered : Joined, nullptr);
    Await(i + 1);
  }
  for (int i = 0; i < 8; ++i) {
    if (i != 3) pthread_join(threads[i], nullptr);
  }
  value = 1;  // RACE(value) CHAIN(value): main
  Arrive();
  pthread_join(threads[3], nullptr);
}
