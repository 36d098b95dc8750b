// The Attributes bug of RaceTrack 4.1.2: two caches of bits in one word. A check of other bits is harmless, two updates are not.
// PATTERN(check): safe flag update
// RANK(check): low
// VARIABLE(check): checked.flags
// PATTERN(update): flag updates overwrite each other
// RANK(update): high
// VARIABLE(update): updated.flags
#include <pthread.h>

#include "invisible.h"

struct Attributes {
  int flags = 0;

  NOINLINE void ComputeA(bool a) {
    // CHAIN(check): ComputeA < Worker
    // CHAIN(update): ComputeA < Worker
    flags |= a ? 0x03 : 0x01;  // RACE(check) RACE(update)
  }
  NOINLINE void CheckB() {
    if ((flags & 0x10) == 0) USE(this);  // RACE(check) CHAIN(check): CheckB < main
  }
  NOINLINE void ComputeB(bool b) {
    flags |= b ? 0x30 : 0x10;  // RACE(update) CHAIN(update): ComputeB < main
  }
};

Attributes checked;
Attributes updated;

void* Worker(void*) {
  checked.ComputeA(true);
  updated.ComputeA(true);
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  checked.CheckB();
  updated.ComputeB(false);
  pthread_join(thread, nullptr);
}
