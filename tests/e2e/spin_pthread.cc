// pthread_spin_lock protects.
// NORACE
#include <pthread.h>

#include "invisible.h"

pthread_spinlock_t lock;
int counter;

void* Worker(void*) {
  for (int i = 0; i < 20; ++i) {
    pthread_spin_lock(&lock);
    ++counter;
    pthread_spin_unlock(&lock);
  }
  return nullptr;
}

int main() {
  pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
  pthread_t threads[2];
  for (pthread_t& thread : threads) pthread_create(&thread, nullptr, Worker, nullptr);
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  pthread_spin_destroy(&lock);
}
