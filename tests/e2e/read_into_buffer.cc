// read(2) writes the buffer that another thread reads.
#include <pthread.h>

#include "invisible.h"

char buffer[8];

void* Reader(void*) {
  USE(buffer[2]);  // RACE(buffer) CHAIN(buffer): Reader
  Arrive();
  return nullptr;
}

int main() {
  int ends[2];
  if (pipe(ends) != 0) abort();
  if (write(ends[1], "redflag", 8) != 8) abort();
  pthread_t thread;
  pthread_create(&thread, nullptr, Reader, nullptr);
  Await(1);
  if (read(ends[0], buffer, 8) != 8) abort();  // RACE(buffer) CHAIN(buffer): main
  pthread_join(thread, nullptr);
}
