// What goes through a stream is read from the program's memory, and written to it.
#include <pthread.h>
#include <stdio.h>

#include "invisible.h"

char text[] = "text";
char line[16];

void* Worker(void*) {
  Await(1);
  text[0] = 'T';  // RACE(text) CHAIN(text): Worker
  line[0] = 'L';  // RACE(line) CHAIN(line): Worker
  return nullptr;
}

int main() {
  FILE* file = tmpfile();
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  fputs(text, file);  // RACE(text) CHAIN(text): main
  rewind(file);
  if (fgets(line, sizeof line, file) == nullptr) return 1;  // RACE(line) CHAIN(line): main
  Arrive();
  pthread_join(thread, nullptr);
  fclose(file);
}
