// Two threads read 8 bytes; one of them then, at a later time, the first half again. Whoever is ordered after its first read may write the other
// half, and not this one.
#include <pthread.h>

#include "invisible.h"

union {
  long whole;
  int halves[2];
} value;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void* Other(void*) {
  USE(value.whole);
  return nullptr;
}

void* Rereader(void*) {
  USE(value.whole);
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  USE(value.halves[0]);  // RACE(first) CHAIN(first): Rereader
  Arrive();
  Await(2);
  return nullptr;
}

int main() {
  value.whole = 1;
  pthread_t other;
  pthread_create(&other, nullptr, Other, nullptr);
  pthread_join(other, nullptr);
  pthread_t rereader;
  pthread_create(&rereader, nullptr, Rereader, nullptr);
  Await(1);
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  value.halves[1] = 2;
  value.halves[0] = 2;  // RACE(first) CHAIN(first): main
  Arrive();
  pthread_join(rereader, nullptr);
}
