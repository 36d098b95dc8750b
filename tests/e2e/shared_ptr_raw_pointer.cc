// A raw pointer beside the owners: the last owner destroys what another thread has just used.
#include <pthread.h>

#include <memory>

#include "invisible.h"

struct Object {
  NOINLINE ~Object() {
    USE(value);  // RACE(value) CHAIN(value): ~Object < main
  }
  int value = 1;
};

void* Worker(void* object) {
  static_cast<Object*>(object)->value = 2;  // RACE(value) CHAIN(value): Worker
  Arrive();
  return nullptr;
}

int main() {
  auto owner = std::make_shared<Object>();
  std::weak_ptr<Object> keeps_the_memory = owner;
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, owner.get());
  Await(1);
  owner.reset();
  pthread_join(thread, nullptr);
}
