// One thread closes what another one writes to.
// PATTERN(pipe): descriptor closed while in use
// RANK(pipe): high
// PLACE: descriptor
#include <pthread.h>
#include <unistd.h>

#include "invisible.h"

int ends[2];

void* Writer(void*) {
  char byte = 1;
  if (write(ends[1], &byte, 1) != 1) abort();  // RACE(pipe) CHAIN(pipe): Writer
  Arrive();
  return nullptr;
}

int main() {
  if (pipe(ends) != 0) abort();
  pthread_t thread;
  pthread_create(&thread, nullptr, Writer, nullptr);
  Await(1);
  close(ends[1]);  // RACE(pipe) CHAIN(pipe): main
  pthread_join(thread, nullptr);
  close(ends[0]);
}
