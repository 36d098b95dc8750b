// A hundred thousand lock operations of the other thread lie between the two, none of them ours.
#include <pthread.h>

#include "invisible.h"

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int value;
int noise;

void* Worker(void*) {
  value = 1;  // RACE(value) CHAIN(value): Worker
  for (int i = 0; i < 100000; ++i) {
    pthread_mutex_lock(&mutex);
    ++noise;
    pthread_mutex_unlock(&mutex);
  }
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
