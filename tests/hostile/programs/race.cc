// One race, an answer on standard output, and a status of its own.
#include <cstdio>
#include <thread>

int shared;

int main() {
  std::thread other([] { shared = 1; });
  shared = 2;
  other.join();
  std::puts("the answer is 42");
  return 3;
}
