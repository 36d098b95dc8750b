// A comparison throws out of qsort, past the frame of a function that is not instrumented: nothing of it is in the chain of what comes
// after, however often it happens.
#include <pthread.h>
#include <stdlib.h>

#include "invisible.h"

int value;
int comparisons;
int numbers[4] = {3, 1, 2, 0};

NOINLINE int Compare(const void*, const void*) {
  if (++comparisons > 0) throw 1;
  return 0;
}

NOINLINE void Sort() {
  qsort(numbers, 4, sizeof(int), Compare);
  USE(numbers[0]);
}

NOINLINE void Try() {
  try {
    Sort();
  } catch (int what) {
    USE(what);
  }
}

NOINLINE void Store() {
  value = 1;  // RACE(value) CHAIN(value): Store < Worker
}

void* Worker(void*) {
  for (int i = 0; i < 100; ++i) Try();
  Store();
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
