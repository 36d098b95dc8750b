/* Jumps by a copy of the buffer, through the checked function, and from a comparison in qsort. */
// FLAGS: -D_FORTIFY_SOURCE=2 -Wno-cpp
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "invisible.h"

int value;
int other;
static jmp_buf back;
static jmp_buf copy;
static int numbers[4] = {3, 1, 2, 0};

NOINLINE int Compare(const void* a, const void* b) {
  (void)a, (void)b;
  ++other;
  memcpy(copy, back, sizeof copy);
  longjmp(copy, 1);
}
NOINLINE void Through(void) {
  qsort(numbers, 4, sizeof(int), Compare);
  ++other;
}

NOINLINE void Try(void) {
  if (_setjmp(back) == 0) Through();
  ++other;
}

NOINLINE void Store(void) {
  value = 1;  // RACE(value) CHAIN(value): Store < Worker
}

void* Worker(void* unused) {
  for (int i = 0; i < 200; ++i) Try();
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
