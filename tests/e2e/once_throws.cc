// An attempt that throws comes before the next one, which another thread makes.
// NORACE
#include <pthread.h>

#include <mutex>

#include "invisible.h"

std::once_flag once;
int value;

void Initialize(bool fail) {
  ++value;
  if (fail) throw 1;
}

void Attempt(bool fail) {
  try {
    std::call_once(once, Initialize, fail);
  } catch (int what) {
    USE(what);
  }
}

void* Worker(void*) {
  Attempt(true);
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  Attempt(false);
  Attempt(false);
  USE(value);
  pthread_join(thread, nullptr);
}
