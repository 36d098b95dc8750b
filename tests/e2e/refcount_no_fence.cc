// The last owner deletes without an acquire: the other's uses are not ordered before it, its decrement included.
// PATTERN(owners): reference count
// RANK(owners): high
// PATTERN(uses): free while in use
// RANK(uses): high
#include <pthread.h>

#include <atomic>

#include "invisible.h"

struct Object {
  std::atomic<int> owners{2};
  int uses = 0;
};

NOINLINE void Release(Object* object) {
  // CHAIN(owners): Release < Worker
  if (object->owners.fetch_sub(1, std::memory_order_release) == 1) {  // RACE(owners)
    delete object;  // RACE(uses) RACE(owners) CHAIN(uses): Release < main CHAIN(owners): Release < main
  }
}

void* Worker(void* argument) {
  Object* object = static_cast<Object*>(argument);
  object->uses = 1;  // RACE(uses) CHAIN(uses): Worker
  Release(object);
  Arrive();
  return nullptr;
}

int main() {
  Object* object = new Object;
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, object);
  Await(1);
  Release(object);
  pthread_join(thread, nullptr);
}
