// A variable of the C library that programs replace and read at will (DataCollider 3.3); and one that the user's rules name.
// OPTIONS: suppressions={here}/special.txt
// PATTERN(environ): special variable
// RANK(environ): low
// PATTERN(now): special variable
// RANK(now): low
// VARIABLE(now): now
#include <pthread.h>
#include <unistd.h>

#include "invisible.h"

long now;

void* Worker(void*) {
  static char* none[] = {nullptr};
  environ = none;  // RACE(environ) CHAIN(environ): Worker
  now = 1;         // RACE(now) CHAIN(now): Worker
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  USE(environ);  // RACE(environ) CHAIN(environ): main
  USE(now);      // RACE(now) CHAIN(now): main
  pthread_join(thread, nullptr);
}
