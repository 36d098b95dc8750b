// pthread_exit deep in calls ends the thread; a destructor of thread-specific data then runs with an empty chain below it.
#include <pthread.h>

#include "invisible.h"

pthread_key_t key;
int value;

void Destroy(void*) {
  value = 1;  // RACE(value) CHAIN(value): Destroy
  Arrive();
}

NOINLINE void Leave(int depth) {
  if (depth == 0) pthread_exit(nullptr);
  Leave(depth - 1);
  USE(depth);
}

void* Worker(void* argument) {
  pthread_setspecific(key, argument);
  Leave(4);
  return nullptr;
}

int main() {
  pthread_key_create(&key, Destroy);
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, &value);
  Await(1);
  USE(value);  // RACE(value) CHAIN(value): main
  pthread_join(thread, nullptr);
}
