// An exception leaves std::call_once: nothing of it is in the chain of what comes after.
#include <pthread.h>

#include <mutex>

#include "invisible.h"

int value;
int other;

NOINLINE void Initialize() {
  ++other;
  throw 1;
}

NOINLINE void Try() {
  std::once_flag once;
  try {
    std::call_once(once, Initialize);
  } catch (int what) {
    USE(what);
  }
}

NOINLINE void Store() {
  value = 1;  // RACE(value) CHAIN(value): Store < Worker
}

void* Worker(void*) {
  for (int i = 0; i < 100; ++i) Try();
  Store();
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
