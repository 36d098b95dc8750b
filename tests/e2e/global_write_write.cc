// Two threads write a global variable, nothing orders them: the plainest race ([intro.races]/21).
#include <pthread.h>

#include "invisible.h"

int counter;

void* Writer(void*) {
  counter = 1;  // RACE(counter) CHAIN(counter): Writer
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Writer, nullptr);
  Await(1);
  counter = 2;  // RACE(counter) CHAIN(counter): main
  pthread_join(thread, nullptr);
}
