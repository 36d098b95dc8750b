// One element of an array on a stack, and one of a matrix.
// PLACE: stack main
// VARIABLE(element): table[5]
// VARIABLE(cell): matrix[1][2]
#include <pthread.h>

#include "invisible.h"

NOINLINE void Put(int* table, int index) {
  // CHAIN(element): Put < Share < main
  // CHAIN(element): Put < Writer
  table[index] = index;  // RACE(element)
}
NOINLINE void Set(int (*matrix)[4], int row) {
  // CHAIN(cell): Set < Share < main
  // CHAIN(cell): Set < Writer
  matrix[row][2] = row;  // RACE(cell)
}

struct Shared {
  int* table;
  int (*matrix)[4];
};

void* Writer(void* argument) {
  const Shared shared = *static_cast<Shared*>(argument);
  Put(shared.table, 5);
  Set(shared.matrix, 1);
  Arrive();
  return nullptr;
}

NOINLINE void Share() {
  int before[8];     // not zeroed: what is there is of calls that ended
  int table[16];     // LOCAL(element): Share
  int matrix[3][4];  // LOCAL(cell): Share
  Put(before, 7);
  Shared shared = {table, matrix};
  pthread_t thread;
  pthread_create(&thread, nullptr, Writer, &shared);
  Await(1);
  Put(table, 5);
  Set(matrix, 1);
  pthread_join(thread, nullptr);
  USE(before[7] + table[5] + matrix[1][2]);
}

int main() { Share(); }
