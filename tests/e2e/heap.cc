// A heap block shared without synchronization.
// PLACE: heap main
#include <pthread.h>
#include <stdlib.h>

#include "invisible.h"

void* Writer(void* block) {
  static_cast<int*>(block)[10] = 1;  // RACE(element) CHAIN(element): Writer
  Arrive();
  return nullptr;
}

int main() {
  int* block = static_cast<int*>(malloc(40 * sizeof(int)));
  pthread_t thread;
  pthread_create(&thread, nullptr, Writer, block);
  Await(1);
  USE(block[10]);  // RACE(element) CHAIN(element): main
  pthread_join(thread, nullptr);
  free(block);
}
