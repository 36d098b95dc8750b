// Different bytes of one word are different memory locations ([intro.memory]/3).
// NORACE
#include <pthread.h>

#include "invisible.h"

alignas(8) char bytes[8];

void* Worker(void* argument) {
  const long mine = reinterpret_cast<long>(argument);
  for (int i = 0; i < 100; ++i) bytes[mine] = static_cast<char>(bytes[mine] + 1);
  Arrive();
  Await(8);
  return nullptr;
}

int main() {
  pthread_t threads[8];
  for (long i = 0; i < 8; ++i) pthread_create(&threads[i], nullptr, Worker, reinterpret_cast<void*>(i));
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
}
