// One function, two variables; and one function on two ways to memory of the heap: four races, and none hides another.
// REPORTS: 4
#include <pthread.h>

#include "invisible.h"

int left;
int right;
int* first;
int* second;

NOINLINE void Store(int* where) {
  // CHAIN(all): Store < Worker
  // CHAIN(all): Store < StoreFirst < Worker
  // CHAIN(all): Store < StoreSecond < Worker
  *where = 1;  // RACE(all)
}
NOINLINE int Load(const int* from) {
  return *from;  // RACE(all) CHAIN(all): Load < main
}

NOINLINE void StoreFirst() {
  Store(first);
  USE(1);
}
NOINLINE void StoreSecond() {
  Store(second);
  USE(2);
}

void* Worker(void*) {
  Store(&left);
  Store(&right);
  StoreFirst();
  StoreSecond();
  Arrive();
  return nullptr;
}

int main() {
  first = new int(0);
  second = new int(0);
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  USE(Load(&left));
  USE(Load(&right));
  USE(Load(first));
  USE(Load(second));
  pthread_join(thread, nullptr);
  delete first;
  delete second;
}
