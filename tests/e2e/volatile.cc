// volatile is no synchronization.
#include <pthread.h>

#include "invisible.h"

volatile bool stop;

void* Worker(void*) {
  stop = true;  // RACE(stop) CHAIN(stop): Worker
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  while (!stop) {  // RACE(stop) CHAIN(stop): main
  }
  pthread_join(thread, nullptr);
}
