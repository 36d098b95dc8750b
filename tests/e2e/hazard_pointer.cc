// The reader clears its hazard pointer behind a release fence; the reclaimer sees that and fences before it frees.
// NORACE
#include <pthread.h>

#include <atomic>

#include "invisible.h"

std::atomic<int*> head;
std::atomic<int*> hazard;

void* Reader(void*) {
  int* node;
  do {
    node = head.load(std::memory_order_relaxed);
    hazard.store(node, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  } while (head.load(std::memory_order_acquire) != node);
  USE(*node);
  Arrive();
  Await(2);
  USE(*node);
  std::atomic_thread_fence(std::memory_order_release);
  hazard.store(nullptr, std::memory_order_relaxed);
  return nullptr;
}

int main() {
  int* node = new int(1);
  head.store(node, std::memory_order_release);
  pthread_t thread;
  pthread_create(&thread, nullptr, Reader, nullptr);
  Await(1);
  head.store(nullptr, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (hazard.load(std::memory_order_relaxed) != node) abort();
  Arrive();
  while (hazard.load(std::memory_order_relaxed) == node) usleep(100);
  std::atomic_thread_fence(std::memory_order_acquire);
  delete node;
  pthread_join(thread, nullptr);
}
