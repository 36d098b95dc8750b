// A recursive function is in the chain once for each call.
#include <pthread.h>

#include "invisible.h"

int value;

NOINLINE void Down(int depth) {
  if (depth == 0) {
    value = 1;  // RACE(value) CHAIN(value): Down*6 < Worker
  } else {
    Down(depth - 1);
  }
  USE(depth);
}

void* Worker(void*) {
  Down(5);
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
