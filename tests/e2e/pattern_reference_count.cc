// A plain reference count: it goes down too, so it is no statistics counter (DataCollider 3.3).
// PATTERN(refs): reference count
// RANK(refs): high
// VARIABLE(refs): refs
#include <pthread.h>

#include "invisible.h"

int refs = 2;

NOINLINE bool Release() {
  // CHAIN(refs): Release < Worker
  // CHAIN(refs): Release < main
  return --refs == 0;  // RACE(refs)
}

void* Worker(void*) {
  USE(Release());
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  USE(Release());
  pthread_join(thread, nullptr);
}
