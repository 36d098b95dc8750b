// A failed lock (EDEADLK) and a failed unlock (EPERM) synchronize nothing.
#include <errno.h>
#include <pthread.h>

#include "invisible.h"

pthread_mutex_t mutex;
int counter;

void* Worker(void*) {
  counter = 1;                                         // RACE(counter) CHAIN(counter): Worker
  if (pthread_mutex_unlock(&mutex) != EPERM) abort();  // main owns it
  Arrive();
  return nullptr;
}

int main() {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_init(&mutex, &attributes);
  pthread_mutex_lock(&mutex);
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  if (pthread_mutex_lock(&mutex) != EDEADLK) abort();
  counter = 2;  // RACE(counter) CHAIN(counter): main
  pthread_mutex_unlock(&mutex);
  pthread_join(thread, nullptr);
}
