// memset, memcpy and memmove of sizes that the compiler knows, which it does in place.
#include <pthread.h>
#include <string.h>

#include "invisible.h"

struct Record {
  char bytes[24];
};

char word[8];
Record cleared, copied, source, moved;
char large[300];

void* Writer(void* from) {
  memset(word, 0, 8);                    // RACE(word) CHAIN(word): Writer
  memset(&cleared, 0, sizeof cleared);   // RACE(cleared) CHAIN(cleared): Writer
  memcpy(&copied, from, sizeof copied);  // RACE(copied) CHAIN(copied): Writer
  memmove(&moved, from, 12);             // RACE(moved) CHAIN(moved): Writer
  memset(large, 1, sizeof large);        // RACE(large) CHAIN(large): Writer
  Record mine;
  memcpy(&mine, &source, sizeof mine);  // RACE(source) CHAIN(source): Writer
  Arrive();
  return mine.bytes[23] == 0 ? nullptr : from;
}

int main() {
  static Record from;
  pthread_t thread;
  pthread_create(&thread, nullptr, Writer, &from);
  Await(1);
  word[7] = 1;            // RACE(word) CHAIN(word): main
  cleared.bytes[23] = 1;  // RACE(cleared) CHAIN(cleared): main
  copied.bytes[23] = 1;   // RACE(copied) CHAIN(copied): main
  moved.bytes[12] = 1;    // behind it
  moved.bytes[11] = 1;    // RACE(moved) CHAIN(moved): main
  large[299] = 1;         // RACE(large) CHAIN(large): main
  source.bytes[23] = 1;   // RACE(source) CHAIN(source): main
  pthread_join(thread, nullptr);
}
