// A local variable of main whose address another thread has.
// PLACE: stack main
// PATTERN(local): stack object shared
// RANK(local): medium
// VARIABLE(local): local
#include <pthread.h>

#include "invisible.h"

void* Writer(void* local) {
  *static_cast<int*>(local) = 1;  // RACE(local) CHAIN(local): Writer
  Arrive();
  return nullptr;
}

NOINLINE void Share() {
  int local = 0;  // LOCAL(local): Share
  pthread_t thread;
  pthread_create(&thread, nullptr, Writer, &local);
  Await(1);
  local = 2;  // RACE(local) CHAIN(local): Share < main
  pthread_join(thread, nullptr);
  USE(local);
}

int main() { Share(); }
