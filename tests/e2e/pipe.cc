// What is written to a pipe happens after what came before it, and before who reads it.
// NORACE
#include <pthread.h>

#include "invisible.h"

int ends[2];
int payload;

void* Writer(void*) {
  payload = 1;
  char byte = 0;
  if (write(ends[1], &byte, 1) != 1) abort();
  return nullptr;
}

int main() {
  if (pipe(ends) != 0) abort();
  pthread_t thread;
  pthread_create(&thread, nullptr, Writer, nullptr);
  char byte;
  if (read(ends[0], &byte, 1) != 1) abort();
  ++payload;
  pthread_join(thread, nullptr);
}
