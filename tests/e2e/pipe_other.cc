// Two threads that write to different pipes, and one that reads only one of them.
#include <pthread.h>

#include "invisible.h"

int first[2];
int second[2];
int ordered;
int unordered;

void* First(void*) {
  ordered = 1;
  if (write(first[1], "1", 1) != 1) abort();
  return nullptr;
}

void* Second(void*) {
  unordered = 1;  // RACE(unordered) CHAIN(unordered): Second
  if (write(second[1], "2", 1) != 1) abort();
  Arrive();
  return nullptr;
}

int main() {
  if (pipe(first) != 0 || pipe(second) != 0) abort();
  pthread_t threads[2];
  pthread_create(&threads[0], nullptr, First, nullptr);
  pthread_create(&threads[1], nullptr, Second, nullptr);
  char byte;
  if (read(first[0], &byte, 1) != 1) abort();
  USE(ordered);
  Await(1);
  USE(unordered);  // RACE(unordered) CHAIN(unordered): main
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
}
