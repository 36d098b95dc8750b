// Dekker's entry with sequentially consistent fences; leaving is a release store that the other's acquire load reads.
// NORACE
#include <pthread.h>

#include <atomic>

#include "invisible.h"

std::atomic<int> wants[2];
int shared_value;

bool TryEnter(int me) {
  wants[me].store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (wants[1 - me].load(std::memory_order_acquire) == 0) return true;
  wants[me].store(0, std::memory_order_relaxed);
  return false;
}

void* Worker(void* second) {
  const int me = second == nullptr ? 0 : 1;
  for (int done = 0; done < 10;) {
    if (TryEnter(me)) {
      ++shared_value;
      ++done;
      wants[me].store(0, std::memory_order_release);
    }
    usleep(100);
  }
  return nullptr;
}

int main() {
  pthread_t threads[2];
  pthread_create(&threads[0], nullptr, Worker, nullptr);
  pthread_create(&threads[1], nullptr, Worker, &shared_value);
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
}
