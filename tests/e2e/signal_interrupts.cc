// A signal interrupts a computation, and its handler is called on top of it.
#include <pthread.h>
#include <signal.h>

#include "invisible.h"

int value;
volatile sig_atomic_t handled;

void Handle(int, siginfo_t*, void*) {
  value = 1;  // RACE(value) CHAIN(value): Handle < Compute < Worker
  handled = 1;
  Arrive();
}

__attribute__((noinline, no_sanitize("thread"))) static int Unwatched() { return handled; }

NOINLINE void Compute() {
  Arrive();
  unsigned sum = 0;
  while (Unwatched() == 0) {
    for (unsigned i = 0; i < 10000000; ++i) {
      sum = sum * 31 + i;
      USE(sum);
    }
  }
}

void* Worker(void*) {
  Compute();
  USE(1);
  return nullptr;
}

int main() {
  struct sigaction action = {};
  action.sa_sigaction = Handle;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGUSR1, &action, nullptr);
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  usleep(20000);
  pthread_kill(thread, SIGUSR1);
  Await(2);
  USE(value);  // RACE(value) CHAIN(value): main
  pthread_join(thread, nullptr);
}
