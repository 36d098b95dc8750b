// The thread starts in a member function.
#include <thread>

#include "invisible.h"

class Counter {
 public:
  void Work(int by) {
    value_ += by;  // RACE(value) CHAIN(value): Work
    Arrive();
  }
  int value() const {
    return value_;  // RACE(value) CHAIN(value): value < main
  }

 private:
  int value_ = 0;
};

int main() {
  static Counter counter;  // on the stack, clang 14 would take it for nobody else's
  std::thread worker(&Counter::Work, &counter, 2);
  Await(1);
  USE(counter.value());
  worker.join();
}
