// Two 4-byte members of one 8-byte word, and 2-byte ones of another: no byte in common.
// NORACE
#include <pthread.h>

#include "invisible.h"

struct Pair {
  int first;
  int second;
  short third;
  short fourth;
} pair;

void* Worker(void*) {
  pair.first = 1;
  pair.third = 1;
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  pair.second = 2;
  pair.fourth = 2;
  pthread_join(thread, nullptr);
}
