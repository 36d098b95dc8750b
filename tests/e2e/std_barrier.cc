// std::barrier with a completion function: arrivals happen before it, it happens before the waits return.
// NORACE
// STD: c++20
#include <pthread.h>

#include <barrier>

#include "invisible.h"

int parts[3];
int sum;

void AddUp() noexcept {
  sum = 0;
  for (int part : parts) sum += part;
}

std::barrier barrier(3, AddUp);

void* Worker(void* argument) {
  for (int round = 0; round < 4; ++round) {
    *static_cast<int*>(argument) = round;
    barrier.arrive_and_wait();
    if (sum != 3 * round) abort();
    barrier.arrive_and_wait();
  }
  return nullptr;
}

int main() {
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], nullptr, Worker, &parts[i]);
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
}
