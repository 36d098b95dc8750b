// A local variable that a thread has by reference, in a lambda; the owner waits for the thread when that completes the race.
// PLACE: stack main
// VARIABLE(total): total
#include <thread>

#include "invisible.h"

NOINLINE void Add(int& sum, int value) {
  // CHAIN(total): Add < Sum < main
  // CHAIN(total): Add < lambda
  sum += value;  // RACE(total)
}

NOINLINE int Sum() {
  int total = 0;  // LOCAL(total): Sum
  Add(total, 1);
  std::thread thread([&total] {
    Await(1);
    Add(total, 2);
  });
  Add(total, 3);
  Arrive();
  thread.join();
  return total;
}

int main() { USE(Sum()); }
