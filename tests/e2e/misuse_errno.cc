// A signal handler that spoils errno, and a thread that ended and that nobody waits for.
// NORACE
// STATUS: 66
// OPTIONS: report_thread_leaks=1
// MISUSE: signal handler spoils errno at misuse_errno.cc:12
// MISUSE: thread leak at misuse_errno.cc:23
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "invisible.h"
NOINLINE void Handler(int) { errno = ENOENT; }

void* Worker(void*) {
  Arrive();
  return nullptr;
}

int main() {
  signal(SIGUSR1, Handler);
  raise(SIGUSR1);
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  usleep(200000);  // until it is past its end
}
