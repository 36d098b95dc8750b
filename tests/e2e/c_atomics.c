/* C11 atomics: _Atomic objects with operators are sequentially consistent. */
// NORACE
#include <pthread.h>
#include <stdatomic.h>

#include "invisible.h"

static _Atomic int flag;
static int payload;

static void* Worker(void* unused) {
  payload = 1;
  flag = 1;
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, Worker, NULL);
  while (flag == 0) usleep(100);
  ++payload;
  pthread_join(thread, NULL);
  return 0;
}
