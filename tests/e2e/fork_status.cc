// The parent has reported a race: its child, which has none, ends as it likes.
#include <pthread.h>
#include <sys/wait.h>

#include "invisible.h"

int value;

void* Worker(void*) {
  value = 1;  // RACE(value) CHAIN(value): Worker
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  value = 2;  // RACE(value) CHAIN(value): main
  pthread_join(thread, nullptr);
  const pid_t child = fork();
  if (child == 0) return value;
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 2) abort();
}
