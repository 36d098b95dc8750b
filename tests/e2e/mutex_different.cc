// Each thread takes a mutex of its own: that orders nothing.
// PATTERN(counter): different locks
// RANK(counter): high
// VARIABLE(counter): counter
#include <pthread.h>

#include "invisible.h"

pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t right = PTHREAD_MUTEX_INITIALIZER;
int counter;

void* Worker(void*) {
  pthread_mutex_lock(&left);
  ++counter;  // RACE(counter) CHAIN(counter): Worker
  pthread_mutex_unlock(&left);
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  pthread_mutex_lock(&right);
  ++counter;  // RACE(counter) CHAIN(counter): main
  pthread_mutex_unlock(&right);
  pthread_join(thread, nullptr);
}
