// What comes after a stream was flushed is not handed on by that.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "invisible.h"

int data;
FILE* out;

void* Writer(void*) {
  fputs("go\n", out);
  fflush(out);
  Await(1);
  data = 1;  // RACE(data) CHAIN(data): Writer
  Arrive();
  return nullptr;
}

int main() {
  int ends[2];
  if (pipe(ends) != 0) abort();
  FILE* in = fdopen(ends[0], "r");
  out = fdopen(ends[1], "w");
  pthread_t thread;
  pthread_create(&thread, nullptr, Writer, nullptr);
  char text[16];
  if (fgets(text, sizeof text, in) == nullptr) abort();
  Arrive();
  Await(2);
  USE(data);  // RACE(data) CHAIN(data): main
  pthread_join(thread, nullptr);
  fclose(in);
  fclose(out);
}
