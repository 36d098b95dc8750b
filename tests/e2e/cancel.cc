// A cancelled thread runs its cleanup handlers; all of it happens before join returns.
// NORACE
#include <pthread.h>

#include "invisible.h"

int value;

void CleanUp(void*) { ++value; }

void* Worker(void*) {
  pthread_cleanup_push(CleanUp, nullptr);
  ++value;
  Arrive();
  for (;;) usleep(1000);
  pthread_cleanup_pop(0);
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  pthread_cancel(thread);
  pthread_join(thread, nullptr);
  ++value;
}
