// Two waits in every round: one between write and reads, one between the reads and the next write.
// NORACE
#include <pthread.h>

#include "invisible.h"

pthread_barrier_t barrier;
int value;

void* Worker(void* leader) {
  for (int round = 0; round < 5; ++round) {
    if (leader != nullptr) value = round;
    pthread_barrier_wait(&barrier);
    USE(value);
    pthread_barrier_wait(&barrier);
  }
  return nullptr;
}

int main() {
  pthread_barrier_init(&barrier, nullptr, 3);
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], nullptr, Worker, i == 0 ? &value : nullptr);
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  pthread_barrier_destroy(&barrier);
}
