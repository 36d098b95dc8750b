// The barrier for tests orders accesses in time and, to the detector, not at all.
#include <pthread.h>
#include <stdint.h>

#include "invisible.h"

extern "C" void __tsan_testonly_barrier_init(uint64_t* barrier, unsigned count);
extern "C" void __tsan_testonly_barrier_wait(uint64_t* barrier);

uint64_t barrier;
int value;

void* Worker(void*) {
  value = 1;  // RACE(value) CHAIN(value): Worker
  for (int i = 0; i < 100; ++i) __tsan_testonly_barrier_wait(&barrier);
  return nullptr;
}

int main() {
  __tsan_testonly_barrier_init(&barrier, 2);
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  for (int i = 0; i < 100; ++i) __tsan_testonly_barrier_wait(&barrier);
  value = 2;  // RACE(value) CHAIN(value): main
  pthread_join(thread, nullptr);
}
