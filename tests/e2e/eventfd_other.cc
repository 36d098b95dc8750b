// An eventfd orders its own readers and writers, not those of another one.
#include <pthread.h>
#include <sys/eventfd.h>

#include "invisible.h"

int first;
int second;
int ordered;
int unordered;

void* First(void*) {
  ordered = 1;
  eventfd_write(first, 1);
  return nullptr;
}

void* Second(void*) {
  unordered = 1;  // RACE(unordered) CHAIN(unordered): Second
  eventfd_write(second, 1);
  Arrive();
  return nullptr;
}

int main() {
  first = eventfd(0, 0);
  second = eventfd(0, 0);
  pthread_t threads[2];
  pthread_create(&threads[0], nullptr, First, nullptr);
  pthread_create(&threads[1], nullptr, Second, nullptr);
  eventfd_t value = 0;
  if (eventfd_read(first, &value) != 0) abort();
  USE(ordered);
  Await(1);
  USE(unordered);  // RACE(unordered) CHAIN(unordered): main
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
}
