/* Three hundred places to jump to at one time, one in each call; jumps from each of the last hundred to the one before. */
#include <pthread.h>
#include <setjmp.h>

#include "invisible.h"

int value;
int other;
static jmp_buf back[300];

NOINLINE void Jump(int to) {
  ++other;
  longjmp(back[to], 1);
}

NOINLINE void Nest(int depth) {
  if (setjmp(back[depth]) == 0) {
    if (depth < 299) {
      Nest(depth + 1);
    } else {
      Jump(299);
    }
  } else if (depth > 200) {
    Jump(depth - 1);
  }
  ++other;
}

NOINLINE void Store(void) {
  value = 1;  // RACE(value) CHAIN(value): Store < Worker
}

void* Worker(void* unused) {
  for (int i = 0; i < 10; ++i) Nest(0);
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
