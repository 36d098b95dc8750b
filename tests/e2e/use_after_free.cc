// A thread uses a block that another freed before: the other way round of free_use.
#include <pthread.h>
#include <stdlib.h>

#include "invisible.h"

void* User(void* block) {
  Await(1);
  USE(static_cast<volatile int*>(block)[3]);  // RACE(block) CHAIN(block): User
  Arrive();
  return nullptr;
}

int main() {
  int* block = static_cast<int*>(malloc(64));
  pthread_t thread;
  pthread_create(&thread, nullptr, User, block);
  free(block);  // RACE(block) CHAIN(block): main
  Arrive();
  pthread_join(thread, nullptr);
}
