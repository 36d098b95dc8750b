// libc, which is not instrumented, calls back into the program: the chain goes through it.
#include <pthread.h>
#include <stdlib.h>

#include "invisible.h"

int comparisons;
int numbers[4] = {3, 1, 2, 0};

NOINLINE int Compare(const void* a, const void* b) {
  ++comparisons;  // RACE(comparisons) CHAIN(comparisons): Compare < Sort < Worker
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

NOINLINE void Sort() {
  qsort(numbers, 4, sizeof(int), Compare);
  USE(numbers[0]);
}

void* Worker(void*) {
  Sort();
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  USE(comparisons);  // RACE(comparisons) CHAIN(comparisons): main
  pthread_join(thread, nullptr);
}
