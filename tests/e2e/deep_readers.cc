// Sixteen threads read far down in recursion, then one writes: the report has all of their stacks.
#include <pthread.h>

#include "invisible.h"

int value;

constexpr int kReaders = 16;

NOINLINE int Down(int depth) {
  if (depth == 0) return value;  // RACE(value) CHAIN(value): Down*506 < Reader
  const int below = Down(depth - 1);
  USE(below);
  return below;
}

void* Reader(void*) {
  USE(Down(505));
  Arrive();
  return nullptr;
}

int main() {
  pthread_t threads[kReaders];
  for (int i = 0; i < kReaders; ++i) {
    pthread_create(&threads[i], nullptr, Reader, nullptr);
    Await(i + 1);
  }
  value = 1;  // RACE(value) CHAIN(value): main
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
}
