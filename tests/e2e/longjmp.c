/* longjmp has left three frames: they are not in the chain of what comes after. */
#include <pthread.h>
#include <setjmp.h>

#include "invisible.h"

int value;
int other;
static jmp_buf back;

NOINLINE void Jump(void) {
  ++other;
  longjmp(back, 1);
}
NOINLINE void Through(void) {
  Jump();
  ++other;
}
NOINLINE void Further(void) {
  Through();
  ++other;
}

NOINLINE void Store(void) {
  value = 1;  // RACE(value) CHAIN(value): Store < Worker
}

void* Worker(void* unused) {
  if (setjmp(back) == 0) Further();
  Store();
  Arrive();
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, Worker, NULL);
  Await(1);
  USE(value);  // RACE(value) CHAIN(value): main
  pthread_join(thread, NULL);
  return 0;
}
