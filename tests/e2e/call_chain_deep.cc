// Every caller is in the chain, on both sides.
#include <pthread.h>

#include "invisible.h"

int value;

NOINLINE void Four(int by) {
  value += by;  // RACE(value) CHAIN(value): Four < Three < Two < One < Worker
  USE(by);
}
NOINLINE void Three(int by) {
  Four(by + 1);
  USE(by);
}
NOINLINE void Two(int by) {
  Three(by + 1);
  USE(by);
}
NOINLINE void One(int by) {
  Two(by + 1);
  USE(by);
}

void* Worker(void*) {
  One(1);
  Arrive();
  return nullptr;
}

NOINLINE int Look() {
  return value;  // RACE(value) CHAIN(value): Look < Ask < main
}
NOINLINE int Ask() { return Look() + 1; }

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  USE(Ask());
  pthread_join(thread, nullptr);
}
