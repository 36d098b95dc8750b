// Sequentially consistent operations on different variables do not synchronize.
#include <pthread.h>

#include <atomic>

#include "invisible.h"

std::atomic<int> left;
std::atomic<int> right;
int payload;

void* Sender(void*) {
  payload = 42;  // RACE(payload) CHAIN(payload): Sender
  left.store(1);
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Sender, nullptr);
  Await(1);
  USE(right.load());
  USE(payload);  // RACE(payload) CHAIN(payload): main
  pthread_join(thread, nullptr);
}
