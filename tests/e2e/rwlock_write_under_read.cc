// Two threads write while both hold the lock for reading: readers are not ordered among themselves.
// PATTERN(value): write under read lock
// RANK(value): high
// VARIABLE(value): value
#include <pthread.h>

#include "invisible.h"

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int value;

void* Writer(void*) {
  pthread_rwlock_rdlock(&lock);
  value = 1;  // RACE(value) CHAIN(value): Writer
  pthread_rwlock_unlock(&lock);
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Writer, nullptr);
  Await(1);
  pthread_rwlock_rdlock(&lock);
  value = 2;  // RACE(value) CHAIN(value): main
  pthread_rwlock_unlock(&lock);
  pthread_join(thread, nullptr);
}
