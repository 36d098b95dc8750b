// The read comes first in time, then the write: the reader must not have been forgotten.
#include <pthread.h>

#include "invisible.h"

long total;

void* Reader(void*) {
  USE(total);  // RACE(total) CHAIN(total): Reader
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Reader, nullptr);
  Await(1);
  total = 7;  // RACE(total) CHAIN(total): main
  pthread_join(thread, nullptr);
}
