// Mutexes that are used as none may be: each is told, with the place.
// NORACE
// STATUS: 66
// MISUSE: unlock of an unlocked mutex (or by a wrong thread) at misuse_mutex.cc:16
// MISUSE: destroy of a locked mutex at misuse_mutex.cc:24
// MISUSE: use of an invalid mutex (e.g. uninitialized or destroyed) at misuse_mutex.cc:32
#include <pthread.h>

#include "invisible.h"

pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;

NOINLINE void UnlockTwice() {
  pthread_mutex_lock(&plain);
  pthread_mutex_unlock(&plain);
  pthread_mutex_unlock(&plain);
}

NOINLINE void DestroyHeld() {
  pthread_mutex_t held;
  pthread_mutex_init(&held, nullptr);
  pthread_mutex_lock(&held);
  // libc refuses, and the program does not look.
  pthread_mutex_destroy(&held);
  pthread_mutex_unlock(&held);
}

NOINLINE void LockDestroyed() {
  pthread_mutex_t gone;
  pthread_mutex_init(&gone, nullptr);
  pthread_mutex_destroy(&gone);
  pthread_mutex_lock(&gone);
}

int main() {
  UnlockTwice();
  DestroyHeld();
  LockDestroyed();
}
