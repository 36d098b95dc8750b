// A block is freed after another thread used it, with nothing in between: free is a write to all of it.
#include <pthread.h>
#include <stdlib.h>

#include "invisible.h"

void* User(void* block) {
  static_cast<int*>(block)[3] = 1;  // RACE(block) CHAIN(block): User
  Arrive();
  return nullptr;
}

NOINLINE void Release(int* block) {
  free(block);  // RACE(block) CHAIN(block): Release < main
}

int main() {
  int* block = static_cast<int*>(malloc(64));
  pthread_t thread;
  pthread_create(&thread, nullptr, User, block);
  Await(1);
  Release(block);
  pthread_join(thread, nullptr);
}
