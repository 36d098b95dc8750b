// die_after_fork=1: the child of a process with several threads is ended when it creates one; that of a process with one thread is not.
// OPTIONS: die_after_fork=1
// NORACE
#include <pthread.h>

#include "child.h"

volatile int stop;

INVISIBLE static bool Stopped() { return stop != 0; }
INVISIBLE static void Stop() { stop = 1; }

void* Idle(void*) {
  Arrive();
  while (!Stopped()) usleep(1000);
  return nullptr;
}

void* Nothing(void*) { return nullptr; }

void CreateOne() {
  pthread_t thread;
  if (pthread_create(&thread, nullptr, Nothing, nullptr) != 0) abort();
  pthread_join(thread, nullptr);
}

// The first thread is another one of those that the child has not.
void* Fork(void* ended) {
  *static_cast<Ended*>(ended) = InChild(CreateOne);
  return nullptr;
}

void ExpectGivenUp(const Ended& ended) {
  if (ended.status != 66 || !ended.Says("starting new threads after multi-threaded fork is not supported")) abort();
}

int main() {
  CreateOne();  // and it has ended
  if (InChild(CreateOne).status != 0) abort();

  pthread_t thread;
  pthread_create(&thread, nullptr, Idle, nullptr);
  Await(1);
  ExpectGivenUp(InChild(CreateOne));
  if (InChild([] {}).status != 0) abort();  // one that creates none
  Stop();
  pthread_join(thread, nullptr);

  static Ended ended;
  pthread_create(&thread, nullptr, Fork, &ended);
  pthread_join(thread, nullptr);
  ExpectGivenUp(ended);
}
