// A table is filled and then read by several, over and over, each phase after the other has ended; in fields of all sizes. In the end one
// field is written while a reader has not ended.
#include <pthread.h>
#include <string.h>

#include "invisible.h"

constexpr int kRounds = 12;  // more than it takes to become shared for ever
constexpr int kFields = 300;

struct Row {
  long number;
  int pair[2];
  char bytes[8];
} table[kFields];

NOINLINE long Sum(int first, int step) {
  long sum = 0;
  for (int i = first; i < kFields; i += step) {
    sum += table[i].number + table[i].pair[i % 2];
    for (char byte : table[i].bytes) sum += byte;
  }
  return sum;
}

void* Reader(void*) {
  USE(Sum(0, 1));
  USE(Sum(1, 3));
  return nullptr;
}

void* LastReader(void*) {
  USE(table[7].bytes[3]);  // RACE(byte) CHAIN(byte): LastReader
  Arrive();
  Await(2);
  return nullptr;
}

int main() {
  pthread_t threads[3];
  for (int round = 0; round < kRounds; ++round) {
    for (Row& row : table) {
      row.number = round;
      row.pair[0] = row.pair[1] = round;
      memset(row.bytes, round, sizeof row.bytes);
    }
    for (pthread_t& thread : threads) pthread_create(&thread, nullptr, Reader, nullptr);
    USE(Sum(2, 5));
    for (pthread_t thread : threads) pthread_join(thread, nullptr);
  }
  pthread_create(&threads[0], nullptr, LastReader, nullptr);
  Await(1);
  table[7].bytes[2] = 1;
  table[7].bytes[3] = 1;  // RACE(byte) CHAIN(byte): main
  Arrive();
  pthread_join(threads[0], nullptr);
}
