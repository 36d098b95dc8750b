// The first thread's thread-local variable, of a struct, written by another one.
// PLACE: thread-local main
// VARIABLE(mine): mine.second
#include <pthread.h>

#include "invisible.h"

struct Three {
  long first, second, third;
};
thread_local Three mine;
Three* lent;

void* Worker(void*) {
  lent->second = 1;  // RACE(mine) CHAIN(mine): Worker
  Arrive();
  return nullptr;
}

int main() {
  lent = &mine;
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  mine.second = 2;  // RACE(mine) CHAIN(mine): main
  pthread_join(thread, nullptr);
}
