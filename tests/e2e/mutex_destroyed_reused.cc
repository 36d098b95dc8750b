// A mutex is destroyed and its memory becomes another one: the new mutex carries nothing of the old one, and was not handed to the other
// thread either.
#include <pthread.h>

#include "invisible.h"

pthread_mutex_t mutex;
int value;

void* Worker(void*) {
  pthread_mutex_lock(&mutex);
  value = 1;  // RACE(value) CHAIN(value): Worker
  pthread_mutex_unlock(&mutex);
  pthread_mutex_destroy(&mutex);  // RACE(mutex) CHAIN(mutex): Worker
  pthread_mutex_init(&mutex, nullptr);
  Arrive();
  return nullptr;
}

int main() {
  pthread_mutex_init(&mutex, nullptr);
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  pthread_mutex_lock(&mutex);  // RACE(mutex) CHAIN(mutex): main
  value = 2;                   // RACE(value) CHAIN(value): main
  pthread_mutex_unlock(&mutex);
  pthread_join(thread, nullptr);
}
