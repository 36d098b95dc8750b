// The initialization of a static local variable happens before its use everywhere ([stmt.dcl]/3).
// NORACE
#include <pthread.h>

#include "invisible.h"

struct Table {
  Table() {
    for (int i = 0; i < 16; ++i) entries[i] = i;
  }
  int entries[16];
};

NOINLINE const Table& TheTable() {
  static const Table table;
  return table;
}

void* Worker(void*) {
  USE(TheTable().entries[7]);
  Arrive();
  Await(3);
  return nullptr;
}

int main() {
  pthread_t threads[3];
  for (pthread_t& thread : threads) pthread_create(&thread, nullptr, Worker, nullptr);
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
}
