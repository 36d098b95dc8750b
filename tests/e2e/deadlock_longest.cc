// longest_deadlock=2: locks that three threads take in a circle are not reported, those that two take are.
// NORACE
// STATUS: 66
// OPTIONS: longest_deadlock=2
// MISUSE: lock-order-inversion (potential deadlock) at deadlock_longest.cc:18
#include <pthread.h>

#include "invisible.h"

struct Turn {
  int number;  // of arrivals before it
  pthread_mutex_t *first, *second;
};

NOINLINE void TakeBoth(const Turn& turn) {
  Await(turn.number);
  pthread_mutex_lock(turn.first);
  pthread_mutex_lock(turn.second);
  pthread_mutex_unlock(turn.second);
  pthread_mutex_unlock(turn.first);
  Arrive();
}

pthread_mutex_t m[5] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                        PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
const Turn turns[5] = {
    {0, &m[0], &m[1]}, {1, &m[1], &m[2]}, {2, &m[2], &m[0]},  // three
    {3, &m[3], &m[4]}, {4, &m[4], &m[3]},                     // two
};

void* Worker(void* turn) {
  TakeBoth(*static_cast<const Turn*>(turn));
  Await(5);
  return nullptr;
}

int main() {
  pthread_t threads[5];
  for (int i = 0; i < 5; ++i) pthread_create(&threads[i], nullptr, Worker, const_cast<Turn*>(&turns[i]));
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
}
