// The child of a fork goes on being checked.
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
  const pid_t child = fork();
  if (child == 0) {
    pthread_t thread;
    pthread_create(&thread, nullptr, Worker, nullptr);
    Await(1);
    value = 2;  // RACE(value) CHAIN(value): main
    pthread_join(thread, nullptr);
    return 0;
  }
  int status = 0;
  waitpid(child, &status, 0);
}
