// Readers share, writers exclude.
// NORACE
#include <pthread.h>

#include "invisible.h"

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int value;

void* Writer(void*) {
  for (int i = 0; i < 50; ++i) {
    pthread_rwlock_wrlock(&lock);
    ++value;
    pthread_rwlock_unlock(&lock);
  }
  return nullptr;
}

void* Reader(void*) {
  for (int i = 0; i < 50; ++i) {
    pthread_rwlock_rdlock(&lock);
    USE(value);
    pthread_rwlock_unlock(&lock);
  }
  return nullptr;
}

int main() {
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], nullptr, i % 2 == 0 ? Writer : Reader, nullptr);
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
}
