// A timed lock that ran out of time acquired nothing.
#include <pthread.h>

#include "invisible.h"

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int counter;

void* Worker(void*) {
  pthread_mutex_lock(&mutex);
  counter = 1;  // RACE(counter) CHAIN(counter): Worker
  Arrive();
  Await(2);
  pthread_mutex_unlock(&mutex);
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  timespec past = {1, 0};
  if (pthread_mutex_timedlock(&mutex, &past) == 0) abort();
  counter = 2;  // RACE(counter) CHAIN(counter): main
  Arrive();
  pthread_join(thread, nullptr);
}
