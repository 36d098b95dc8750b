/* The plainest race, in C. */
#include <pthread.h>

#include "invisible.h"

static struct {
  int first;
  int second;
} shared;

static void* Worker(void* unused) {
  shared.second = 1;  // RACE(second) CHAIN(second): Worker
  Arrive();
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, Worker, NULL);
  Await(1);
  shared.second += 2;  // RACE(second) CHAIN(second): main
  pthread_join(thread, NULL);
  return 0;
}
