// Two threads use a variable under different locks; a third lock, taken around something else, orders them in this run.
// DETECTORS: hb hybrid lockset
// BY(value): hybrid lockset
#include <mutex>
#include <thread>

#include "invisible.h"

std::mutex left, right, between;
int value;
int steps;

void Count() {
  const std::lock_guard<std::mutex> guard(between);
  ++steps;
}

void AddLeft() {
  const std::lock_guard<std::mutex> guard(left);
  value += 1;  // RACE(value) CHAIN(value): AddLeft < main
}

void AddRight() {
  const std::lock_guard<std::mutex> guard(right);
  value += 2;  // RACE(value) CHAIN(value): AddRight < lambda
}

int main() {
  std::thread other([] {
    Await(1);
    Count();
    AddRight();
    Count();
    Arrive();
  });
  AddLeft();
  Count();
  Arrive();
  Await(2);
  Count();
  AddLeft();
  other.join();
}
