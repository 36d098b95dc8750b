#include "counter.h"

static int count;

void CountUp() {
  ++count;  // RACE(count) CHAIN(count): CountUp < Worker
}

int CountNow() {
  return count;  // RACE(count) CHAIN(count): CountNow < main
}
