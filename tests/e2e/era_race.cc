// Races are found after the times of all slots were used up: between threads that have lived through it, and with both stacks and locks.
// OPTIONS: slot_times=16
#include <mutex>
#include <thread>

#include "invisible.h"

std::mutex mutex;
long counter;
int value;
int other;

void Count(int times) {
  for (int i = 0; i < times; ++i) {
    std::lock_guard<std::mutex> guard(mutex);
    ++counter;
  }
}

void First() {
  Count(30000);
  Arrive();
  Await(2);
  value = 1;  // RACE(value) CHAIN(value): First
  Arrive();
}

void Second() {
  Count(30000);
  Arrive();
  Await(3);
  value = 2;  // RACE(value) CHAIN(value): Second
  Count(30000);
  {
    std::lock_guard<std::mutex> guard(mutex);
    other = 1;  // RACE(other) CHAIN(other): Second
  }
  Arrive();
}

int main() {
  std::thread first(First);
  std::thread second(Second);
  Await(4);
  other = 2;  // RACE(other) CHAIN(other): main
  first.join();
  second.join();
}
