// A mutex is memory: who makes one hands it to the others, or they race with that.
#include <pthread.h>

#include "invisible.h"

pthread_mutex_t mutex;

void* Worker(void*) {
  Await(1);
  pthread_mutex_lock(&mutex);  // RACE(mutex) CHAIN(mutex): Worker
  pthread_mutex_unlock(&mutex);
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  pthread_mutex_init(&mutex, nullptr);  // RACE(mutex) CHAIN(mutex): main
  Arrive();
  pthread_join(thread, nullptr);
}
