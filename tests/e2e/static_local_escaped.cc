// A pointer to a static local object got out by a plain variable: who reads it there did not pass the guard.
#include <pthread.h>

#include "invisible.h"

struct Table {
  int entries[4];
};
Table* table;

NOINLINE Table* Make() {
  static Table made = {{1, 2, 3, 4}};
  table = &made;  // RACE(table) CHAIN(table): Make < TheTable < Worker
  return &made;
}

NOINLINE Table* TheTable() {
  static Table* const the = Make();
  return the;
}

void* Worker(void*) {
  USE(TheTable());
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  USE(table);  // RACE(table) CHAIN(table): main
  pthread_join(thread, nullptr);
}
