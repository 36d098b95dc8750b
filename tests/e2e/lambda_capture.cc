// A lambda that captured a local variable by reference runs in another thread.
#include <thread>

#include "invisible.h"

int main() {
  int local = 0;
  std::thread worker([&local] {
    local = 1;  // RACE(local) CHAIN(local): lambda
    Arrive();
  });
  Await(1);
  local = 2;  // RACE(local) CHAIN(local): main
  worker.join();
  USE(local);
}
