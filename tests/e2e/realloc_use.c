/* realloc reads and frees the old block, which another thread wrote unordered. */
#include <pthread.h>
#include <stdlib.h>

#include "invisible.h"

void* User(void* block) {
  ((int*)block)[1] = 1;  // RACE(block) CHAIN(block): User
  Arrive();
  return NULL;
}

int main(void) {
  int* block = malloc(64);
  pthread_t thread;
  pthread_create(&thread, NULL, User, block);
  Await(1);
  int* larger = realloc(block, 1 << 20);  // RACE(block) CHAIN(block): main
  USE(larger);
  pthread_join(thread, NULL);
  free(larger);
  return 0;
}
