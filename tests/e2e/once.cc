// pthread_once: the initializer happens before every return of the call, also in threads that did not run it.
// NORACE
#include <pthread.h>

#include "invisible.h"

pthread_once_t once = PTHREAD_ONCE_INIT;
int value;

void Initialize() { value = 1; }

void* Worker(void*) {
  pthread_once(&once, Initialize);
  USE(value);
  Arrive();
  Await(3);
  return nullptr;
}

int main() {
  pthread_t threads[3];
  for (pthread_t& thread : threads) pthread_create(&thread, nullptr, Worker, nullptr);
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
}
