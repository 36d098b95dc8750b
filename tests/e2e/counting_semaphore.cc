// std::counting_semaphore: release happens before the acquire that it lets through.
// NORACE
// STD: c++20
#include <pthread.h>

#include <semaphore>

#include "invisible.h"

std::counting_semaphore<4> full(0);
std::binary_semaphore empty(1);
int slot;

void* Producer(void*) {
  for (int i = 0; i < 10; ++i) {
    empty.acquire();
    slot = i;
    full.release();
  }
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Producer, nullptr);
  for (int i = 0; i < 10; ++i) {
    full.acquire();
    if (slot != i) abort();
    empty.release();
  }
  pthread_join(thread, nullptr);
}
