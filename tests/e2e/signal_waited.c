// Who waits for a signal comes after who sent it.
// NORACE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

sigset_t all;
int data[3];

void* Waiter(void* unused) {
  int came = 0;
  if (sigwait(&all, &came) != 0 || came != SIGUSR1 || data[0] != 1) abort();
  siginfo_t info;
  if (sigwaitinfo(&all, &info) != SIGUSR2 || data[1] != 1) abort();
  const struct timespec minute = {60, 0};
  if (sigtimedwait(&all, &info, &minute) != SIGUSR1 || data[2] != 1) abort();
  return unused;
}

int main() {
  sigemptyset(&all);
  sigaddset(&all, SIGUSR1);
  sigaddset(&all, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &all, 0);
  pthread_t thread;
  pthread_create(&thread, 0, Waiter, 0);
  data[0] = 1;
  pthread_kill(thread, SIGUSR1);
  data[1] = 1;
  kill(getpid(), SIGUSR2);
  data[2] = 1;
  // Not before the first one was taken: signals of one number are not counted.
  for (sigset_t left;;) {
    if (sigpending(&left) == 0 && !sigismember(&left, SIGUSR2)) break;
    usleep(1000);
  }
  sigqueue(getpid(), SIGUSR1, (union sigval){0});
  pthread_join(thread, 0);
}
