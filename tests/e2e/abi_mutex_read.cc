// Two who hold a lock of the program's own making for reading are not ordered by it; nor does an attempt that failed order anything.
#include <pthread.h>
#include <sanitizer/tsan_interface.h>

#include "invisible.h"

char lock;
char other_lock;
int shared;
int tried;
int diverted;

void LockForReading() {
  __tsan_mutex_pre_lock(&lock, __tsan_mutex_read_lock);
  __tsan_mutex_post_lock(&lock, __tsan_mutex_read_lock, 0);
}
void UnlockForReading() {
  __tsan_mutex_pre_unlock(&lock, __tsan_mutex_read_lock);
  __tsan_mutex_post_unlock(&lock, __tsan_mutex_read_lock);
}

void* Worker(void*) {
  LockForReading();
  shared = 1;  // RACE(shared) CHAIN(shared): Worker
  UnlockForReading();
  tried = 1;  // RACE(tried) CHAIN(tried): Worker
  __tsan_mutex_pre_lock(&other_lock, 0);
  __tsan_mutex_pre_divert(&other_lock, 0);
  diverted = 1;  // RACE(diverted) CHAIN(diverted): Worker
  __tsan_mutex_post_divert(&other_lock, 0);
  __tsan_mutex_post_lock(&other_lock, 0, 0);
  __tsan_mutex_pre_unlock(&other_lock, 0);
  __tsan_mutex_post_unlock(&other_lock, 0);
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  LockForReading();
  shared = 2;  // RACE(shared) CHAIN(shared): main
  UnlockForReading();
  __tsan_mutex_pre_lock(&lock, __tsan_mutex_try_lock);
  __tsan_mutex_post_lock(&lock, __tsan_mutex_try_lock | __tsan_mutex_try_lock_failed, 0);
  USE(tried);     // RACE(tried) CHAIN(tried): main
  USE(diverted);  // RACE(diverted) CHAIN(diverted): main
  pthread_join(thread, nullptr);
}
