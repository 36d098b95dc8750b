// A member of an object on the heap, that its member functions access; so is the lock that one of them holds.
// VARIABLE(size): Store::size
// PLACE: heap main
#include <pthread.h>

#include <mutex>

#include "invisible.h"

class Store {
 public:
  NOINLINE void Add() {
    const std::lock_guard guard(mutex);
    ++size;  // RACE(size) CHAIN(size): Add < Worker
  }
  NOINLINE void Show() const {
    USE(size);  // RACE(size) CHAIN(size): Show < main
    USE(this);
  }

 private:
  std::mutex mutex;
  long before = 0;
  int size = 0;
  int after = 0;
  long rest = 0;  // on x86-64, the allocator rounds its size up
};
Store* store;

void* Worker(void*) {
  store->Add();
  Arrive();
  return nullptr;
}

int main() {
  store = new Store;
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  store->Show();
  pthread_join(thread, nullptr);
  delete store;
}
