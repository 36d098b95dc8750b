// A thread writes 8 bytes, another reads one of them.
#include <pthread.h>

#include "invisible.h"

union Word {
  long whole;
  char bytes[8];
} word;

void* Writer(void*) {
  word.whole = -1;  // RACE(word) CHAIN(word): Writer
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Writer, nullptr);
  Await(1);
  USE(word.bytes[5]);  // RACE(word) CHAIN(word): main
  pthread_join(thread, nullptr);
}
