// A handler that interrupts code whose synchronization is ignored: what the handler does counts.
// NORACE
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>

extern "C" void AnnotateIgnoreSyncBegin(const char*, int);
extern "C" void AnnotateIgnoreSyncEnd(const char*, int);

int value;
std::atomic<int> flag;

void Handler(int) {
  value = 1;
  flag.store(1, std::memory_order_release);
}

void* Worker(void*) {
  AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
  raise(SIGUSR1);
  AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
  return nullptr;
}

int main() {
  signal(SIGUSR1, Handler);
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  while (flag.load(std::memory_order_acquire) == 0) {
  }
  value = 2;
  pthread_join(thread, nullptr);
}
