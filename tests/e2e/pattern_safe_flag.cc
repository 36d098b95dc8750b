// A thread looks at one bit while another changes a different one: a safe flag update (DataCollider 3.3). The same bit is none.
// PATTERN(other): safe flag update
// RANK(other): low
// VARIABLE(other): flags
// PATTERN(same): unsynchronized access
// RANK(same): medium
// VARIABLE(same): state
#include <pthread.h>

#include "invisible.h"

constexpr unsigned kDirty = 1;
constexpr unsigned kReady = 2;
unsigned flags;
unsigned state;

void* Worker(void*) {
  flags |= kDirty;  // RACE(other) CHAIN(other): Worker
  state |= kDirty;  // RACE(same) CHAIN(same): Worker
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  if (flags & kReady) USE(1);  // RACE(other) CHAIN(other): main
  if (state & kDirty) USE(2);  // RACE(same) CHAIN(same): main
  pthread_join(thread, nullptr);
}
