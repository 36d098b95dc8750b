// What is allowed, and looks a little like misuse: recursive and error-checking mutexes, a failed trylock, a mutex that is used again after it
// was destroyed and made anew, a signal handler that leaves errno alone.
// NORACE
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include <initializer_list>

#include "invisible.h"

volatile int handled;

void Handler(int) {
  const int error = errno;
  errno = ENOENT;
  handled = 1;
  errno = error;
}

int main() {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  for (int type : {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK}) {
    pthread_mutexattr_settype(&attributes, type);
    pthread_mutex_t mutex;
    pthread_mutex_init(&mutex, &attributes);
    pthread_mutex_lock(&mutex);
    if (type == PTHREAD_MUTEX_RECURSIVE) {
      pthread_mutex_lock(&mutex);
      pthread_mutex_unlock(&mutex);
    } else {
      pthread_mutex_trylock(&mutex);
    }
    pthread_mutex_unlock(&mutex);
    if (type == PTHREAD_MUTEX_ERRORCHECK && pthread_mutex_unlock(&mutex) != EPERM) return 1;
    pthread_mutex_destroy(&mutex);
    pthread_mutex_init(&mutex, nullptr);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    pthread_mutex_destroy(&mutex);
  }
  signal(SIGUSR1, Handler);
  raise(SIGUSR1);
  return handled - 1;
}
