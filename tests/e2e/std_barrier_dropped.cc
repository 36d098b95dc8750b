// A thread that arrives without waiting does not wait for what the others did before they arrive.
// STD: c++20
#include <pthread.h>

#include <barrier>

#include "invisible.h"

std::barrier barrier(2);
int value;

void* Worker(void*) {
  value = 1;  // RACE(value) CHAIN(value): Worker
  Arrive();
  Await(2);
  barrier.arrive_and_wait();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  auto token = barrier.arrive();
  Await(1);
  USE(value);  // RACE(value) CHAIN(value): main
  Arrive();
  barrier.wait(std::move(token));
  pthread_join(thread, nullptr);
}
