// A signal handler that uses the heap, and threads that end while they have their accesses ignored. A handler that a jump has left is none any more.
// NORACE
// STATUS: 66
// MISUSE: signal-unsafe call inside of a signal at misuse_handler.cc:21
// MISUSE: signal-unsafe call inside of a signal at misuse_handler.cc:22
// MISUSE: thread finished with ignores enabled at misuse_handler.cc:34
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

#include <thread>

#include "annotations.h"
#include "invisible.h"

sigjmp_buf out;
void* volatile kept;
volatile int handled;

NOINLINE void Handler(int) {
  kept = malloc(10);
  free(kept);
  handled = 1;
}

NOINLINE void Jumper(int) { siglongjmp(out, 1); }

// What is about to end the program, or is the thread's own fault, may say so at length.
void Faulty(int) { free(malloc(100)); }

NOINLINE void EndsIgnoring() {
  ANNOTATE(IgnoreReadsBegin);
  ANNOTATE(IgnoreReadsEnd);
  ANNOTATE(IgnoreWritesBegin);
}

int main() {
  signal(SIGUSR1, Handler);
  raise(SIGUSR1);
  signal(SIGUSR2, Jumper);
  if (sigsetjmp(out, 1) == 0) raise(SIGUSR2);
  free(malloc(1000));
  signal(SIGTRAP, Faulty);
  raise(SIGTRAP);
  std::thread(EndsIgnoring).join();
  return handled - 1;
}
