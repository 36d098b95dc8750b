// atomic::wait is an acquire load that blocks; notify comes after a release store.
// NORACE
// STD: c++20
#include <pthread.h>

#include <atomic>

#include "invisible.h"

std::atomic<int> stage;
int payload;

void* Worker(void*) {
  stage.wait(0, std::memory_order_acquire);
  ++payload;
  stage.store(2, std::memory_order_release);
  stage.notify_one();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  usleep(1000);
  payload = 1;
  stage.store(1, std::memory_order_release);
  stage.notify_one();
  stage.wait(1, std::memory_order_acquire);
  ++payload;
  pthread_join(thread, nullptr);
}
