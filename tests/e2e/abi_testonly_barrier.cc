// The barrier for tests orders accesses in time and, to the detector, not at all.
#include <pthread.h>
#include <stdlib.h>

#include "invisible.h"

extern "C" void __tsan_testonly_barrier_init(unsigned* barrier, unsigned count);
extern "C" void __tsan_testonly_barrier_wait(unsigned* barrier);

// As wide as it is declared: the neighbour stays what it is.
struct {
  unsigned barrier;
  unsigned neighbour;
} both;
int value;

void* Worker(void*) {
  value = 1;  // RACE(value) CHAIN(value): Worker
  for (int i = 0; i < 100; ++i) __tsan_testonly_barrier_wait(&both.barrier);
  return nullptr;
}

int main() {
  both.neighbour = 7;
  __tsan_testonly_barrier_init(&both.barrier, 2);
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  for (int i = 0; i < 100; ++i) __tsan_testonly_barrier_wait(&both.barrier);
  value = 2;  // RACE(value) CHAIN(value): main
  pthread_join(thread, nullptr);
  if (both.neighbour != 7) abort();
}
