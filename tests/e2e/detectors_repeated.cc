// Two threads take turns at a counter, again and again, with nothing to order them: whoever begins cheaply and learns on the way
// (racetrack, fast, lockset) has learnt enough before it ends.
// DETECTORS: hb hybrid goldilocks goldilocks-lists fast racetrack lockset
#include <pthread.h>
#include <stdlib.h>

#include "invisible.h"

constexpr int kTurns = 20;
int* counter;

void* Odd(void*) {
  for (int turn = 0; turn < kTurns; ++turn) {
    Await(2 * turn + 1);
    ++*counter;  // RACE(counter) CHAIN(counter): Odd
    Arrive();
  }
  return nullptr;
}

int main() {
  counter = static_cast<int*>(calloc(16, sizeof *counter));
  pthread_t thread;
  pthread_create(&thread, nullptr, Odd, nullptr);
  for (int turn = 0; turn < kTurns; ++turn) {
    Await(2 * turn);
    ++*counter;  // RACE(counter) CHAIN(counter): main
    Arrive();
  }
  pthread_join(thread, nullptr);
  free(counter);
}
