// A reader goes on reading after its unlock; the writer that comes next has the lock, but not that read.
#include <pthread.h>

#include "invisible.h"

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int inside;
int outside;

void* Reader(void*) {
  pthread_rwlock_rdlock(&lock);
  USE(inside);
  pthread_rwlock_unlock(&lock);
  USE(outside);  // RACE(outside) CHAIN(outside): Reader
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Reader, nullptr);
  Await(1);
  pthread_rwlock_wrlock(&lock);
  inside = 1;
  outside = 1;  // RACE(outside) CHAIN(outside): main
  pthread_rwlock_unlock(&lock);
  pthread_join(thread, nullptr);
}
