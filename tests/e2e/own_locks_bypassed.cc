// Data that one thread uses without the lock, and data under a lock that excludes others and orders nothing: that a lock is known to be
// held hides no race from those who go by order.
// DETECTORS: hb lockset racetrack hybrid
// OPTIONS: suppressions={here}/own_locks.txt
// SEEN(bypass): hold flag_lock.flag_; not the
// BY(relaxed): hb
// PATTERN(relaxed): weak lock
#include "own_locks.h"

#include <pthread.h>

FlagLock flag_lock;
int counter;

// Nobody who goes by locks objects to it.
class RelaxedLock {
 public:
  void Lock() {
    while (flag_.exchange(true, std::memory_order_relaxed)) usleep(20);
  }
  void Unlock() { flag_.store(false, std::memory_order_relaxed); }

 private:
  std::atomic<bool> flag_{false};
} relaxed_lock;
int by_relaxed;

void Step(int number, bool locks) {
  Await(number);
  if (locks) {
    flag_lock.Lock();
    ++counter;  // RACE(bypass) CHAIN(bypass): Step < First
    flag_lock.Unlock();
    relaxed_lock.Lock();
    by_relaxed = number;  // RACE(relaxed) CHAIN(relaxed): Step < First
    relaxed_lock.Unlock();
  } else {
    relaxed_lock.Lock();
    by_relaxed = number;  // RACE(relaxed) CHAIN(relaxed): Step < Second
    relaxed_lock.Unlock();
    ++counter;  // RACE(bypass) CHAIN(bypass): Step < Second
  }
  Arrive();
}

void* First(void*) {
  for (int i = 0; i < 24; i += 2) Step(i, true);
  return nullptr;
}
void* Second(void*) {
  for (int i = 1; i < 24; i += 2) Step(i, false);
  return nullptr;
}

int main() {
  pthread_t first, second;
  pthread_create(&first, nullptr, First, nullptr);
  pthread_create(&second, nullptr, Second, nullptr);
  pthread_join(first, nullptr);
  pthread_join(second, nullptr);
}
