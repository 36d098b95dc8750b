/* Copies whose sizes the compiler has libc check are accesses like others. */
// FLAGS: -D_FORTIFY_SOURCE=2 -Wno-cpp
#include <pthread.h>
#include <string.h>

#include "invisible.h"

char copied[64];
char text[64];
char buffer[64];
volatile size_t bytes = 16;
const char* volatile source = "redflag";

void* Worker(void* unused) {
  copied[3] = 1;  // RACE(copied) CHAIN(copied): Worker
  text[2] = 1;    // RACE(text) CHAIN(text): Worker
  buffer[5] = 1;  // RACE(buffer) CHAIN(buffer): Worker
  Arrive();
  return unused;
}

NOINLINE void Fill(void) {
  char local[64] = {0};
  memcpy(copied, local, bytes);  // RACE(copied) CHAIN(copied): Fill < main
  strcpy(text, source);          // RACE(text) CHAIN(text): Fill < main
  int ends[2];
  if (pipe(ends) != 0 || write(ends[1], local, bytes) != (ssize_t)bytes) abort();
  if (read(ends[0], buffer, bytes) != (ssize_t)bytes) abort();  // RACE(buffer) CHAIN(buffer): Fill < main
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, Worker, NULL);
  Await(1);
  Fill();
  pthread_join(thread, NULL);
  return 0;
}
