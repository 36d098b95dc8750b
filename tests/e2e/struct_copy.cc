// Copying a struct reads all of it: a race with the write of a member in its middle.
#include <pthread.h>

#include "invisible.h"

struct Big {
  int values[40];
};
Big source;
Big target;

void* Writer(void*) {
  source.values[23] = 1;  // RACE(source) CHAIN(source): Writer
  Arrive();
  return nullptr;
}

NOINLINE void Copy(Big& to, const Big& from) {
  to = from;  // RACE(source) CHAIN(source): Copy < main
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Writer, nullptr);
  Await(1);
  Copy(target, source);
  pthread_join(thread, nullptr);
}
