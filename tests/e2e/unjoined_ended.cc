// A thread that ended and was never joined: the end of a thread alone orders nothing.
#include <pthread.h>

#include "invisible.h"

int result;

void* Worker(void*) {
  result = 1;  // RACE(result) CHAIN(result): Worker
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  usleep(5000);
  result = 2;  // RACE(result) CHAIN(result): main
}
