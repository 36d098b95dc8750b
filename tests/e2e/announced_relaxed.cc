// An edge that is announced by the address of an atomic variable is not ended by a relaxed store to it.
// NORACE
#include <pthread.h>
#include <sanitizer/tsan_interface.h>

#include <atomic>

int value;
std::atomic<int> flag;

void* Worker(void*) {
  value = 1;
  __tsan_release(&flag);
  flag.store(1, std::memory_order_relaxed);
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  while (flag.load(std::memory_order_relaxed) == 0) {
  }
  __tsan_acquire(&flag);
  value = 2;
  pthread_join(thread, nullptr);
}
