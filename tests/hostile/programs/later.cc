// A race, a while in which nothing happens, and the end.
#include <chrono>
#include <cstdio>
#include <thread>

int shared;

int main() {
  std::thread other([] { shared = 1; });
  shared = 2;
  other.join();
  std::puts("raced");
  std::fflush(stdout);
  std::this_thread::sleep_for(std::chrono::seconds(3));
  return 9;
}
