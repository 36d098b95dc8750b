// The last owner deletes: release decrements, and an acquire fence for the last one.
// NORACE
#include <pthread.h>

#include <atomic>

#include "invisible.h"

struct Object {
  std::atomic<int> owners{3};
  int uses[3] = {};
};

void Release(Object* object) {
  if (object->owners.fetch_sub(1, std::memory_order_release) != 1) return;
  std::atomic_thread_fence(std::memory_order_acquire);
  delete object;
}

void* Worker(void* argument) {
  Object* object = static_cast<Object*>(argument);
  object->uses[1] = 1;
  Release(object);
  return nullptr;
}

void* Other(void* argument) {
  Object* object = static_cast<Object*>(argument);
  object->uses[2] = 2;
  Release(object);
  return nullptr;
}

int main() {
  Object* object = new Object;
  pthread_t threads[2];
  pthread_create(&threads[0], nullptr, Worker, object);
  pthread_create(&threads[1], nullptr, Other, object);
  object->uses[0] = 1;
  Release(object);
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
}
