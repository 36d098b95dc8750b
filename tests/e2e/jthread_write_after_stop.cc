// What comes after request_stop is not ordered before the thread that has seen the request.
// STD: c++20
#include <stop_token>
#include <thread>

#include "invisible.h"

int value;

int main() {
  std::jthread worker([](std::stop_token token) {
    while (!token.stop_requested()) usleep(100);
    Await(1);
    value = 2;  // RACE(value) CHAIN(value): lambda
  });
  worker.request_stop();
  value = 1;  // RACE(value) CHAIN(value): main
  Arrive();
}
