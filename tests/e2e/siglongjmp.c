/* A signal handler jumps out of the frames it interrupted: none of them is in the chain of what comes after. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

#include "invisible.h"

int value;
int other;
static sigjmp_buf back;

static void Handle(int signal) { siglongjmp(back, signal); }

NOINLINE void Interrupted(void) {
  ++other;
  raise(SIGUSR1);
  ++other;
}

NOINLINE void Store(void) {
  value = 1;  // RACE(value) CHAIN(value): Store < Worker
}

void* Worker(void* unused) {
  if (sigsetjmp(back, 1) == 0) Interrupted();
  Store();
  Arrive();
  return unused;
}

int main(void) {
  signal(SIGUSR1, Handle);
  pthread_t thread;
  pthread_create(&thread, NULL, Worker, NULL);
  Await(1);
  USE(value);  // RACE(value) CHAIN(value): main
  pthread_join(thread, NULL);
  return 0;
}
