// A lock of the program's own making that nobody names: whoever goes by locks alone takes data under it for unprotected.
// DETECTORS: hb racetrack lockset
// BY(false_alarm): lockset
#include "own_locks.h"

#include <pthread.h>

FlagLock flag_lock;
int counter;

void* Worker(void*) {
  for (int i = 0; i < 10; ++i) {
    flag_lock.Lock();
    ++counter;  // RACE(false_alarm) CHAIN(false_alarm): Worker
    flag_lock.Unlock();
  }
  return nullptr;
}

int main() {
  pthread_t threads[3];
  for (pthread_t& thread : threads) pthread_create(&thread, nullptr, Worker, nullptr);
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
}
