// Two functions that call each other.
#include <pthread.h>

#include "invisible.h"

int value;

void Odd(int depth);

NOINLINE void Even(int depth) {
  if (depth == 0) {
    value = 1;  // RACE(value) CHAIN(value): Even < Odd < Even < Odd < Even < Worker
  } else {
    Odd(depth - 1);
  }
  USE(depth);
}

NOINLINE void Odd(int depth) {
  Even(depth - 1);
  USE(depth);
}

void* Worker(void*) {
  Even(4);
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
