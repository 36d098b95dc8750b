// Double-checked locking: the first check holds no lock (ThreadSanitizer 6.3.8, RaceTrack Table 1 E).
// PATTERN(inited): double-checked locking
// RANK(inited): high
// VARIABLE(inited): inited
#include <pthread.h>

#include "invisible.h"

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
bool inited;
int value;

NOINLINE void Initialize() {
  // CHAIN(inited): Initialize < main
  if (!inited) {  // RACE(inited)
    pthread_mutex_lock(&mutex);
    if (!inited) value = 1;
    inited = true;  // RACE(inited) CHAIN(inited): Initialize < Worker
    pthread_mutex_unlock(&mutex);
  }
}

void* Worker(void*) {
  Initialize();
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  Initialize();
  pthread_join(thread, nullptr);
}
