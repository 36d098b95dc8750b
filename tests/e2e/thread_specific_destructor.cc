// The destructors of thread-specific data belong to the thread: they happen before join returns.
// NORACE
#include <pthread.h>

#include "invisible.h"

pthread_key_t key;
int destroyed;

void Destroy(void*) { ++destroyed; }

void* Worker(void* value) {
  pthread_setspecific(key, value);
  return nullptr;
}

int main() {
  pthread_key_create(&key, Destroy);
  for (int i = 0; i < 3; ++i) {
    pthread_t thread;
    pthread_create(&thread, nullptr, Worker, &destroyed);
    pthread_join(thread, nullptr);
  }
  return destroyed == 3 ? 0 : 1;
}
