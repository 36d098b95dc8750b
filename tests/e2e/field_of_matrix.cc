// An element of an array of arrays, static in a function. Which member of a union it is nobody can tell.
// VARIABLE(low): Table(int, int)::table[1][2]+8
#include <pthread.h>

#include "invisible.h"

struct Cell {
  unsigned flag : 1;
  union {
    long whole;
    int low;
  };
};

NOINLINE int* Table(int row, int column) {
  static Cell table[3][4];
  return &table[row][column].low;
}

void* Worker(void*) {
  *Table(1, 2) = 1;  // RACE(low) CHAIN(low): Worker
  Arrive();
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  *Table(1, 2) = 2;  // RACE(low) CHAIN(low): main
  pthread_join(thread, nullptr);
}
