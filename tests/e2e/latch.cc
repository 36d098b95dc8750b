// std::latch: count_down happens before the return of wait ([thread.latch.class]).
// NORACE
// STD: c++20
#include <pthread.h>

#include <latch>

#include "invisible.h"

std::latch done(3);
int results[3];

void* Worker(void* argument) {
  *static_cast<int*>(argument) = 1;
  done.count_down();
  return nullptr;
}

int main() {
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], nullptr, Worker, &results[i]);
  done.wait();
  for (int& result : results) ++result;
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
}
