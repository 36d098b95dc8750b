// A detached thread wrote and is gone, and others came after it: nobody has joined it, so the race is still one.
#include <pthread.h>

#include "invisible.h"

int result;
int others;

void* Worker(void*) {
  result = 1;  // RACE(result) CHAIN(result): Worker
  Arrive();
  return nullptr;
}

void* Other(void*) {
  ++others;
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  pthread_detach(thread);
  Await(1);
  usleep(5000);
  for (int i = 0; i < 20; ++i) {
    pthread_t other;
    pthread_create(&other, nullptr, Other, nullptr);
    pthread_join(other, nullptr);
  }
  ++result;  // RACE(result) CHAIN(result): main
}
