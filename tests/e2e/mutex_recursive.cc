// Only the outermost unlock of a recursive mutex lets another in.
// NORACE
#include <pthread.h>

#include "invisible.h"

pthread_mutex_t mutex;
int counter;

NOINLINE void Add(int depth) {
  pthread_mutex_lock(&mutex);
  ++counter;
  if (depth > 0) Add(depth - 1);
  ++counter;
  pthread_mutex_unlock(&mutex);
}

void* Worker(void*) {
  for (int i = 0; i < 20; ++i) Add(3);
  return nullptr;
}

int main() {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&mutex, &attributes);
  pthread_t threads[2];
  for (pthread_t& thread : threads) pthread_create(&thread, nullptr, Worker, nullptr);
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  pthread_mutex_destroy(&mutex);
}
