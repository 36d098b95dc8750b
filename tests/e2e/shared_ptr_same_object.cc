// Two threads use one shared_ptr object, one of them changing it: only the count is synchronized, not the pointer.
// PATTERN(global): smart pointer replaced
// RANK(global): high
// VARIABLE(global): global
#include <pthread.h>

#include <memory>

#include "invisible.h"

std::shared_ptr<int> global = std::make_shared<int>(1);

void* Reader(void*) {
  std::shared_ptr<int> copy = global;  // RACE(global) CHAIN(global): Reader
  USE(copy.get());
  Arrive();
  Await(2);
  return nullptr;
}

int main() {
  std::shared_ptr<int> other = std::make_shared<int>(2);
  pthread_t thread;
  pthread_create(&thread, nullptr, Reader, nullptr);
  Await(1);
  global = other;  // RACE(global) CHAIN(global): main
  Arrive();
  pthread_join(thread, nullptr);
}
