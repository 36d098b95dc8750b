// Two threads take turns at ranges that overlap by a part: who ignores lines that one thread alone has touched (fast) ignores no more of a range than these. One buffer is under a
// lock.
// DETECTORS: hb hybrid goldilocks fast
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "invisible.h"

constexpr int kTurns = 4;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
char* buffer;
char* locked;

NOINLINE void FillLocked(int value, size_t size) {
  pthread_mutex_lock(&mutex);
  memset(locked, value, size);
  pthread_mutex_unlock(&mutex);
}

void* Odd(void* size) {
  for (int turn = 0; turn < kTurns; ++turn) {
    Await(2 * turn + 1);
    memset(buffer + 301, turn, *static_cast<size_t*>(size));  // RACE(buffer) CHAIN(buffer): Odd
    FillLocked(turn, *static_cast<size_t*>(size));
    Arrive();
  }
  return nullptr;
}

int main() {
  size_t size = 500;
  buffer = static_cast<char*>(malloc(1000));
  locked = static_cast<char*>(malloc(1000));
  pthread_t thread;
  pthread_create(&thread, nullptr, Odd, &size);
  for (int turn = 0; turn < kTurns; ++turn) {
    Await(2 * turn);
    memset(buffer, turn, size);  // RACE(buffer) CHAIN(buffer): main
    FillLocked(turn, size);
    Arrive();
  }
  pthread_join(thread, nullptr);
  free(buffer);
  free(locked);
}
