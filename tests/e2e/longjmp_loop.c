/* Ten thousand jumps out of nested calls: what they left behind does not pile up. */
#include <pthread.h>
#include <setjmp.h>

#include "invisible.h"

int value;
int other;
static jmp_buf back;

NOINLINE void Jump(int depth) {
  ++other;
  if (depth == 0) longjmp(back, 1);
  Jump(depth - 1);
  ++other;
}

NOINLINE void Try(void) {
  if (setjmp(back) == 0) Jump(10);
  ++other;
}

void* Worker(void* unused) {
  for (int i = 0; i < 10000; ++i) Try();
  value = 1;  // RACE(value) CHAIN(value): Worker
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
