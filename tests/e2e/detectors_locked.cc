// One lock, always the same: nobody has anything to say, whatever it thinks of order. Blocks are freed and come again.
// DETECTORS: hb hybrid goldilocks goldilocks-lists fast racetrack lockset null
// NORACE
#include <pthread.h>
#include <stdlib.h>

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
long sum;
long table[32];
long* block;

void* Work(void*) {
  for (int i = 0; i < 2000; ++i) {
    pthread_mutex_lock(&mutex);
    sum += i;
    if (block == nullptr) {
      block = static_cast<long*>(calloc(8, sizeof *block));
    } else {
      block[i % 8] += i;
      if (i % 16 == 0) {
        free(block);
        block = nullptr;
      }
    }
    pthread_mutex_unlock(&mutex);
    if (i % 7 == 0) {
      pthread_rwlock_wrlock(&rwlock);
      table[i % 32] += i;
      pthread_rwlock_unlock(&rwlock);
    } else {
      pthread_rwlock_rdlock(&rwlock);
      const long read = table[i % 32];
      pthread_rwlock_unlock(&rwlock);
      if (read < 0) abort();
    }
  }
  return nullptr;
}

int main() {
  pthread_t threads[4];
  for (pthread_t& thread : threads) pthread_create(&thread, nullptr, Work, nullptr);
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
}
