/* strlen and strcmp read no byte behind the one that decides: another thread may write those. */
// NORACE
#include <pthread.h>
#include <string.h>

#include "invisible.h"

char name[64] = "redflag";

void* Writer(void* unused) {
  name[8] = 'x';
  name[40] = 'x';
  Arrive();
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, Writer, NULL);
  Await(1);
  volatile const char* hidden = name;
  USE(strlen((const char*)hidden));
  USE(strcmp((const char*)hidden, "redder"));
  pthread_join(thread, NULL);
  return 0;
}
