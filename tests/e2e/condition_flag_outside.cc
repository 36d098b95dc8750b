// The flag is set without the mutex that the waiter holds when it reads it.
#include <pthread.h>

#include "invisible.h"

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
bool ready;

void* Producer(void*) {
  ready = true;  // RACE(ready) CHAIN(ready): Producer
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Producer, nullptr);
  Await(1);
  pthread_mutex_lock(&mutex);
  while (!ready) pthread_cond_wait(&condition, &mutex);  // RACE(ready) CHAIN(ready): main
  pthread_mutex_unlock(&mutex);
  pthread_join(thread, nullptr);
}
