// Two variables, two races: the first does not hide the second.
#include <pthread.h>

#include "invisible.h"

int left;
int right;

void* Worker(void*) {
  left = 1;   // RACE(left) CHAIN(left): Worker
  right = 1;  // RACE(right) CHAIN(right): Worker
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  left = 2;    // RACE(left) CHAIN(left): main
  USE(right);  // RACE(right) CHAIN(right): main
  pthread_join(thread, nullptr);
}
