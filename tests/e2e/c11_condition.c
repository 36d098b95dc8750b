/* C11 condition variable, call_once and mtx_trylock. */
// NORACE
#include <threads.h>

#include "invisible.h"

mtx_t mutex;
cnd_t condition;
once_flag once = ONCE_FLAG_INIT;
int ready;
int payload;
int initialized;

void Initialize(void) { initialized = 1; }

int Worker(void* unused) {
  call_once(&once, Initialize);
  USE(initialized);
  payload = 1;
  while (mtx_trylock(&mutex) != thrd_success) usleep(100);
  ready = 1;
  cnd_signal(&condition);
  mtx_unlock(&mutex);
  return unused == NULL;
}

int main(void) {
  mtx_init(&mutex, mtx_plain);
  cnd_init(&condition);
  thrd_t thread;
  if (thrd_create(&thread, Worker, NULL) != thrd_success) abort();
  call_once(&once, Initialize);
  USE(initialized);
  mtx_lock(&mutex);
  while (!ready) cnd_wait(&condition, &mutex);
  mtx_unlock(&mutex);
  ++payload;
  thrd_join(thread, NULL);
  return 0;
}
