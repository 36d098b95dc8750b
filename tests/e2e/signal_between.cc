// A signal handler interrupts both threads: it uses its thread's own data only.
// NORACE
#include <pthread.h>
#include <signal.h>

#include "invisible.h"

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int counter;
thread_local volatile sig_atomic_t signals;

void Handle(int) { signals = signals + 1; }

void* Worker(void*) {
  for (int i = 0; i < 20; ++i) {
    pthread_mutex_lock(&mutex);
    ++counter;
    raise(SIGUSR1);
    ++counter;
    pthread_mutex_unlock(&mutex);
  }
  return nullptr;
}

int main() {
  signal(SIGUSR1, Handle);
  pthread_t threads[2];
  for (pthread_t& thread : threads) pthread_create(&thread, nullptr, Worker, nullptr);
  for (int i = 0; i < 20; ++i) pthread_kill(threads[0], SIGUSR1);
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
}
