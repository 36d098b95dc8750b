/* C11 threads, mutexes and joins order as POSIX ones do. */
// NORACE
#include <threads.h>

#include "invisible.h"

mtx_t mutex;
int counter;
int result;

int Worker(void* unused) {
  for (int i = 0; i < 20; ++i) {
    mtx_lock(&mutex);
    ++counter;
    mtx_unlock(&mutex);
  }
  result = 1;
  return unused == NULL;
}

int main(void) {
  mtx_init(&mutex, mtx_plain);
  thrd_t thread;
  if (thrd_create(&thread, Worker, NULL) != thrd_success) abort();
  for (int i = 0; i < 20; ++i) {
    mtx_lock(&mutex);
    ++counter;
    mtx_unlock(&mutex);
  }
  thrd_join(thread, NULL);
  ++result;
  mtx_destroy(&mutex);
  return 0;
}
