// A barrier is destroyed as soon as one thread has left it: the other one may still be on its way out.
// NORACE
#include <pthread.h>

#include "invisible.h"

int values[2][2000];

struct Meeting {
  pthread_barrier_t barrier;
};
Meeting meetings[2000];

void* Worker(void*) {
  for (int i = 0; i < 2000; ++i) {
    values[1][i] = i;
    pthread_barrier_wait(&meetings[i].barrier);
    if (values[0][i] != i) abort();
  }
  return nullptr;
}

int main() {
  for (Meeting& meeting : meetings) pthread_barrier_init(&meeting.barrier, nullptr, 2);
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  for (int i = 0; i < 2000; ++i) {
    values[0][i] = i;
    pthread_barrier_wait(&meetings[i].barrier);
    pthread_barrier_destroy(&meetings[i].barrier);
    if (values[1][i] != i) abort();
  }
  pthread_join(thread, nullptr);
}
