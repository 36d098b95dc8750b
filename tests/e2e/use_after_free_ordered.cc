// Memory is used after it was freed, in this order in any run: no race, and no less wrong. In the thread that freed it, right after; in another one,
// under the same lock; after a join; by an atomic operation; by memcpy. Recordings and other detectors do not know of it.
// PATTERN(same): use after free
// RANK(same): high
// BY(same): hb goldilocks
// BY(locked): hb goldilocks
// BY(joined): hb goldilocks
// BY(atomic): hb goldilocks
// BY(copied): hb goldilocks
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "invisible.h"

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
volatile int* locked;
volatile int* joined;
char copy[200];
volatile size_t copied = 200;

NOINLINE void UseOwn() {
  auto* block = static_cast<volatile int*>(malloc(100));
  block[0] = 1;
  free(const_cast<int*>(block));  // RACE(same) CHAIN(same): UseOwn < main
  USE(block[0]);                  // RACE(same) CHAIN(same): UseOwn < main
}

NOINLINE void UseAtomically() {
  int* block = static_cast<int*>(malloc(100));
  __atomic_store_n(block + 4, 1, __ATOMIC_RELAXED);
  free(block);                                              // RACE(atomic) CHAIN(atomic): UseAtomically < main
  USE(__atomic_fetch_add(block + 4, 1, __ATOMIC_RELAXED));  // RACE(atomic) CHAIN(atomic): UseAtomically < main
}

NOINLINE void Copy(char* to) {
  char* block = static_cast<char*>(malloc(3000));
  memset(block, 'x', 3000);
  delete[] new char[3000];
  free(block);                // RACE(copied) CHAIN(copied): Copy < main
  memcpy(to, block, copied);  // RACE(copied) CHAIN(copied): Copy < main
}

void* Freer(void*) {
  pthread_mutex_lock(&mutex);
  free(const_cast<int*>(locked));  // RACE(locked) CHAIN(locked): Freer
  pthread_mutex_unlock(&mutex);
  Arrive();
  Await(2);
  free(const_cast<int*>(joined));  // RACE(joined) CHAIN(joined): Freer
  return nullptr;
}

int main() {
  UseOwn();
  UseAtomically();
  Copy(copy);
  locked = static_cast<volatile int*>(malloc(200));
  joined = static_cast<volatile int*>(malloc(300));
  pthread_t thread;
  pthread_create(&thread, nullptr, Freer, nullptr);
  Await(1);
  pthread_mutex_lock(&mutex);
  USE(locked[3]);  // RACE(locked) CHAIN(locked): main
  pthread_mutex_unlock(&mutex);
  Arrive();
  pthread_join(thread, nullptr);
  USE(joined[5]);  // RACE(joined) CHAIN(joined): main
}
