// Two threads that wait for one another for ever: reported before they do. An alarm ends the program.
// NORACE
// STATUS: 66
// MISUSE: lock-order-inversion (potential deadlock) at deadlock_happens.cc:20
#include <signal.h>

#include <mutex>
#include <thread>

#include "invisible.h"

std::mutex a, b;

NOINLINE void Take(std::mutex& first, std::mutex& second, int later) {
  std::lock_guard x(first);
  Arrive();
  Await(2);
  // One after the other, so that the report is the same each time.
  for (int i = 0; i < later; ++i) usleep(1000000);
  std::lock_guard y(second);
}

int main() {
  signal(SIGALRM, [](int) { _exit(0); });
  alarm(5);
  std::thread one([] { Take(a, b, 0); });
  Take(b, a, 1);
  one.join();
}
