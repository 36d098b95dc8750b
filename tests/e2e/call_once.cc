// std::call_once: the active call happens before every return ([thread.once.callonce]/3), also after a call that threw.
// NORACE
#include <mutex>
#include <thread>

#include "invisible.h"

std::once_flag once;
int value;

void Initialize() { value = 1; }

void Work() {
  std::call_once(once, Initialize);
  USE(value);
  Arrive();
  Await(2);
}

int main() {
  std::thread first(Work);
  std::thread second(Work);
  first.join();
  second.join();
}
