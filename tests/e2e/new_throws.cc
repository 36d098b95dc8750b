// operator new throws: its caller is not on the stack any more.
#include <pthread.h>

#include <new>

#include "invisible.h"

int value;

NOINLINE void Try() {
  try {
    USE(::operator new(~static_cast<size_t>(0) / 4));
  } catch (const std::bad_alloc&) {
    USE(1);
  }
}

NOINLINE void Store() {
  value = 1;  // RACE(value) CHAIN(value): Store < Worker
}

void* Worker(void*) {
  for (int i = 0; i < 3; ++i) Try();
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
