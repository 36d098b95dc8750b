// A signal handler writes what another thread reads: its chain goes on below the frame it interrupted.
#include <pthread.h>
#include <signal.h>

#include "invisible.h"

int value;

NOINLINE void Store() {
  value = 1;  // RACE(value) CHAIN(value): Store < Handle < Interrupted < Worker
}

void Handle(int) {
  Store();
  Arrive();
}

NOINLINE void Interrupted() {
  raise(SIGUSR1);
  USE(1);
}

void* Worker(void*) {
  Interrupted();
  return nullptr;
}

int main() {
  signal(SIGUSR1, Handle);
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  USE(value);  // RACE(value) CHAIN(value): main
  pthread_join(thread, nullptr);
}
