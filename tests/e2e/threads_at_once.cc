// 500 threads alive at the same time, one mutex.
// NORACE
#include <pthread.h>

#include "invisible.h"

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int counter;
int own[500];

void* Worker(void* argument) {
  ++*static_cast<int*>(argument);
  pthread_mutex_lock(&mutex);
  ++counter;
  pthread_mutex_unlock(&mutex);
  Arrive();
  Await(500);
  return nullptr;
}

int main() {
  static pthread_t threads[500];
  for (int i = 0; i < 500; ++i) {
    if (pthread_create(&threads[i], nullptr, Worker, &own[i]) != 0) abort();
  }
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  return counter == 500 ? 0 : 1;
}
