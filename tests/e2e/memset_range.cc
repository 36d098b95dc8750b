// memset of a range against a write just inside it; the byte just behind it is another location.
#include <pthread.h>
#include <string.h>

#include "invisible.h"

char buffer[100];

void* Writer(void* size) {
  memset(buffer, 1, *static_cast<size_t*>(size));  // RACE(buffer) CHAIN(buffer): Writer
  Arrive();
  return nullptr;
}

int main() {
  size_t size = 77;
  pthread_t thread;
  pthread_create(&thread, nullptr, Writer, &size);
  Await(1);
  buffer[77] = 1;
  buffer[76] = 1;  // RACE(buffer) CHAIN(buffer): main
  pthread_join(thread, nullptr);
}
