// The result of the task is used before get.
#include <future>

#include "invisible.h"

int side_effect;

NOINLINE int Compute() {
  side_effect = 1;  // RACE(side_effect) CHAIN(side_effect): Compute
  Arrive();
  return 6;
}

int main() {
  std::future<int> future = std::async(std::launch::async, Compute);
  Await(1);
  ++side_effect;  // RACE(side_effect) CHAIN(side_effect): main
  future.get();
}
