// A condition variable with its mutex hands a value over.
// NORACE
#include <pthread.h>

#include "invisible.h"

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
bool ready;
int payload;

void* Producer(void*) {
  payload = 42;
  pthread_mutex_lock(&mutex);
  ready = true;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&mutex);
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Producer, nullptr);
  pthread_mutex_lock(&mutex);
  while (!ready) pthread_cond_wait(&condition, &mutex);
  pthread_mutex_unlock(&mutex);
  ++payload;
  pthread_join(thread, nullptr);
}
