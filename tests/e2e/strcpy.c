/* strcpy reads its source up to the terminating zero. */
#include <pthread.h>
#include <string.h>

#include "invisible.h"

char name[32] = "redflag";
char copy[32];

void* Writer(void* unused) {
  name[7] = '!';  // RACE(name) CHAIN(name): Writer
  Arrive();
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, Writer, NULL);
  Await(1);
  strcpy(copy, name);  // RACE(name) CHAIN(name): main
  pthread_join(thread, NULL);
  return 0;
}
