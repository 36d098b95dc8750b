// Blocks go from thread to thread through a mutex, are freed there, and their memory is allocated again by others.
// NORACE
#include <pthread.h>
#include <stdlib.h>

#include "invisible.h"

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int* slots[8];

void* Worker(void* argument) {
  unsigned seed = static_cast<unsigned>(reinterpret_cast<long>(argument));
  for (int i = 0; i < 200; ++i) {
    int* mine = static_cast<int*>(malloc(48));
    for (int j = 0; j < 12; ++j) mine[j] = j;
    seed = seed * 1103515245 + 12345;
    pthread_mutex_lock(&mutex);
    int*& slot = slots[seed >> 16 & 7];
    int* other = slot;
    slot = mine;
    pthread_mutex_unlock(&mutex);
    if (other != nullptr) USE(other[5]);
    free(other);
  }
  return nullptr;
}

int main() {
  pthread_t threads[4];
  for (long i = 0; i < 4; ++i) pthread_create(&threads[i], nullptr, Worker, reinterpret_cast<void*>(i));
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  for (int* slot : slots) free(slot);
}
