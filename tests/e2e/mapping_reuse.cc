// Memory that one thread unmapped and another one got from mmap, at the same address: the old accesses are gone.
// NORACE
#include <pthread.h>
#include <sys/mman.h>

#include "invisible.h"

void* place;

void* Worker(void* argument) {
  char* page = static_cast<char*>(
      mmap(argument, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
  if (page == MAP_FAILED) abort();
  for (int i = 0; i < 1 << 16; i += 64) page[i] = 1;
  munmap(page, 1 << 16);
  Arrive();
  return nullptr;
}

int main() {
  place = mmap(nullptr, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) {
    pthread_create(&threads[i], nullptr, Worker, place);
    Await(i + 1);
  }
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
}
