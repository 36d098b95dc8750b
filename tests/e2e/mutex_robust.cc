// The owner of a robust mutex dies; who gets EOWNERDEAD has acquired it, with all the dead thread did.
// NORACE
#include <errno.h>
#include <pthread.h>

#include "invisible.h"

pthread_mutex_t mutex;
int counter;

void* Dying(void*) {
  pthread_mutex_lock(&mutex);
  counter = 1;
  return nullptr;
}

void* Heir(void*) {
  Await(1);
  if (pthread_mutex_lock(&mutex) != EOWNERDEAD) abort();
  counter = 2;
  pthread_mutex_consistent(&mutex);
  pthread_mutex_unlock(&mutex);
  return nullptr;
}

int main() {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&mutex, &attributes);
  pthread_t heir;
  pthread_create(&heir, nullptr, Heir, nullptr);
  pthread_t dying;
  pthread_create(&dying, nullptr, Dying, nullptr);
  pthread_join(dying, nullptr);
  Arrive();
  pthread_join(heir, nullptr);
}
