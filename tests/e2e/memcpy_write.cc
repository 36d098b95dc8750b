// The bytes that memcpy writes, in libc, which is not instrumented.
#include <pthread.h>
#include <string.h>

#include "invisible.h"

char buffer[300];
char message[300];

void* Writer(void* size) {
  memcpy(buffer, message, *static_cast<size_t*>(size));  // RACE(buffer) CHAIN(buffer): Writer
  Arrive();
  return nullptr;
}

int main() {
  size_t size = sizeof buffer;
  pthread_t thread;
  pthread_create(&thread, nullptr, Writer, &size);
  Await(1);
  buffer[299] = 1;  // RACE(buffer) CHAIN(buffer): main
  pthread_join(thread, nullptr);
}
