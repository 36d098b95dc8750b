// __tsan_release and __tsan_acquire of one object are an edge; of two objects they are none.
#include <pthread.h>
#include <sanitizer/tsan_interface.h>

#include "invisible.h"

int ordered;
int unordered;
char first;
char second;

void* Worker(void*) {
  ordered = 1;
  __tsan_release(&first);
  unordered = 1;  // RACE(unordered) CHAIN(unordered): Worker
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  __tsan_acquire(&first);
  __tsan_acquire(&second);
  USE(ordered);
  USE(unordered);  // RACE(unordered) CHAIN(unordered): main
  pthread_join(thread, nullptr);
}
