// The reclaimer looks at the hazard pointer with a relaxed load and no fence behind it before it frees.
#include <pthread.h>

#include <atomic>

#include "invisible.h"

std::atomic<int*> head;
std::atomic<int*> hazard;

void* Reader(void*) {
  int* node = head.load(std::memory_order_relaxed);
  hazard.store(node, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (head.load(std::memory_order_acquire) != node) abort();
  USE(*node);  // RACE(node) CHAIN(node): Reader
  hazard.store(nullptr, std::memory_order_release);
  Arrive();
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
  if (hazard.load(std::memory_order_relaxed) != nullptr) abort();
  delete node;  // RACE(node) CHAIN(node): main
  pthread_join(thread, nullptr);
}
