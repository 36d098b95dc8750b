// The threads did synchronize, but before the write.
// SEEN(data): the last that main knows of T1 is its unlock of mutex at seen_unlock.cc:15; the write by T1 came after that
#include <pthread.h>

#include "invisible.h"

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int done;
int data;

void* Worker(void*) {
  for (int i = 0; i < 1000; ++i) {
    pthread_mutex_lock(&mutex);
    done = i;
    pthread_mutex_unlock(&mutex);
  }
  data = 1;  // RACE(data) CHAIN(data): Worker
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  pthread_mutex_lock(&mutex);
  done = 0;
  pthread_mutex_unlock(&mutex);
  USE(data);  // RACE(data) CHAIN(data): main
  pthread_join(thread, nullptr);
}
