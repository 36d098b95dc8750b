// The child of a process with threads: what they did before the fork is past, and locks of the runtime that they held are not held; what
// the child's own threads do is checked, many times over.
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "invisible.h"

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int shared;
int busy[4][1024];
int before;
int racy;
volatile int stop;

INVISIBLE static bool Stopped() { return stop != 0; }
INVISIBLE static void Stop() { stop = 1; }

// In and out of the runtime all the time: locks, the heap, new memory.
void* Busy(void* argument) {
  auto* own = static_cast<int*>(argument);
  before = 1;  // RACE(before) CHAIN(before): Busy
  Arrive();
  while (!Stopped()) {
    for (int i = 0; i < 1024; ++i) own[i] += i;
    pthread_mutex_lock(&mutex);
    ++shared;
    pthread_mutex_unlock(&mutex);
    free(malloc(100));
  }
  return nullptr;
}

void* Worker(void*) {
  racy = 1;  // RACE(racy) CHAIN(racy): Worker
  Arrive();
  return nullptr;
}

NOINLINE int Child(int arrivals_before) {
  ++before;
  for (auto& block : busy) ++block[0];
  pthread_t thread;
  if (pthread_create(&thread, nullptr, Worker, nullptr) != 0) abort();
  Await(arrivals_before + 1);
  USE(racy);  // RACE(racy) CHAIN(racy): Child < main
  pthread_join(thread, nullptr);
  return 0;
}

int main() {
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], nullptr, Busy, busy[i]);
  Await(4);
  int failed = 0;
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(Child(4));
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 66) ++failed;
  }
  Stop();
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  if (failed != 0) abort();
}
