// std::timed_mutex: try_lock_for goes through pthread_mutex_clocklock, which must be known.
// NORACE
#include <chrono>
#include <mutex>
#include <thread>

#include "invisible.h"

std::timed_mutex mutex;
int counter;

void Work() {
  for (int i = 0; i < 20; ++i) {
    if (!mutex.try_lock_for(std::chrono::seconds(60))) abort();
    ++counter;
    mutex.unlock();
  }
}

int main() {
  std::thread first(Work);
  std::thread second(Work);
  first.join();
  second.join();
}
