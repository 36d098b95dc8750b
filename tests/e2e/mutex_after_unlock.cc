// The write comes after the unlock: what the next owner acquires does not contain it.
#include <pthread.h>

#include "invisible.h"

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int inside;
int outside;

void* Worker(void*) {
  pthread_mutex_lock(&mutex);
  inside = 1;
  pthread_mutex_unlock(&mutex);
  outside = 1;  // RACE(outside) CHAIN(outside): Worker
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  pthread_mutex_lock(&mutex);
  inside = 2;
  outside = 2;  // RACE(outside) CHAIN(outside): main
  pthread_mutex_unlock(&mutex);
  pthread_join(thread, nullptr);
}
