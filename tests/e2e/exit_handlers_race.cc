// A function that is called at the exit, and a thread that nobody waits for: its caller is the place where it was handed over.
#include <pthread.h>
#include <stdlib.h>

#include "invisible.h"

int value;

void AtExit() {
  value = 2;  // RACE(value) CHAIN(value): AtExit < HandOver
}

NOINLINE void HandOver() {
  atexit(AtExit);
  USE(1);
}

void* Worker(void*) {
  value = 1;  // RACE(value) CHAIN(value): Worker
  Arrive();
  Await(2);
  return nullptr;
}

int main() {
  HandOver();
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  pthread_detach(thread);
  Await(1);
}
