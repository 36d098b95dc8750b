// Ten million accesses lie between the two: both stacks must still be there.
#include <pthread.h>

#include "invisible.h"

int value;
volatile char noise[1 << 16];

NOINLINE void Store() {
  value = 1;  // RACE(value) CHAIN(value): Store < Worker
}

NOINLINE void MakeNoise() {
  for (unsigned i = 0; i < 5000000; ++i) noise[i * 97 & 0xffff] = noise[i & 0xffff];
}

void* Worker(void*) {
  Store();
  MakeNoise();
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  USE(value);  // RACE(value) CHAIN(value): main
  pthread_join(thread, nullptr);
}
