// std::async: the call happens before get returns.
// NORACE
#include <future>

#include "invisible.h"

int side_effect;

int Compute() {
  side_effect = 1;
  return 6;
}

int main() {
  std::future<int> future = std::async(std::launch::async, Compute);
  if (future.get() != 6) abort();
  ++side_effect;
}
