// A descriptor that one thread replaces and another one closes, in no order: which file is closed is a matter of luck.
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "invisible.h"

int first;

void* Worker(void*) {
  Await(1);
  close(first);  // RACE(descriptor) CHAIN(descriptor): Worker
  return nullptr;
}

int main() {
  first = open("/dev/null", O_RDONLY);
  const int second = open("/dev/zero", O_RDONLY);
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  dup2(second, first);  // RACE(descriptor) CHAIN(descriptor): main
  Arrive();
  pthread_join(thread, nullptr);
  close(second);
}
