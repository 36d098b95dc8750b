// A destructor of thread-specific data races with main: the thread is still one there, and its start has returned.
#include <pthread.h>

#include "invisible.h"

pthread_key_t key;
int destroyed;

NOINLINE void Count() {
  ++destroyed;  // RACE(destroyed) CHAIN(destroyed): Count < Destroy
}

void Destroy(void*) {
  Count();
  Arrive();
}

void* Worker(void* value) {
  pthread_setspecific(key, value);
  return nullptr;
}

int main() {
  pthread_key_create(&key, Destroy);
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, &destroyed);
  Await(1);
  USE(destroyed);  // RACE(destroyed) CHAIN(destroyed): main
  pthread_join(thread, nullptr);
}
