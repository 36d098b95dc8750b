/* Two C11 threads, no lock. */
#include <threads.h>

#include "invisible.h"

int counter;

int Worker(void* unused) {
  counter = 1;  // RACE(counter) CHAIN(counter): Worker
  Arrive();
  return unused == NULL;
}

int main(void) {
  thrd_t thread;
  if (thrd_create(&thread, Worker, NULL) != thrd_success) abort();
  Await(1);
  counter = 2;  // RACE(counter) CHAIN(counter): main
  thrd_join(thread, NULL);
  return 0;
}
