// Two reads never conflict ([intro.races]/2), and the write before the threads start happens before both.
// NORACE
#include <pthread.h>

#include "invisible.h"

int setting;

void* Reader(void*) {
  USE(setting);
  Arrive();
  Await(2);
  return nullptr;
}

int main() {
  setting = 3;
  pthread_t threads[2];
  for (pthread_t& thread : threads) pthread_create(&thread, nullptr, Reader, nullptr);
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  setting = 4;
}
