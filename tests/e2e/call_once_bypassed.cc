// A thread uses what call_once initializes without calling it.
#include <pthread.h>

#include <mutex>

#include "invisible.h"

std::once_flag once;
int value;

NOINLINE void Initialize() {
  value = 1;  // RACE(value) CHAIN(value): Initialize < Worker
}

void* Worker(void*) {
  std::call_once(once, Initialize);
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
