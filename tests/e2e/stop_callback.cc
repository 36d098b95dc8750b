// A stop callback runs in the thread that requests the stop; its destructor waits for it.
// NORACE
// STD: c++20
#include <stop_token>
#include <thread>

#include "invisible.h"

int state;

int main() {
  std::stop_source source;
  std::thread worker([token = source.get_token()] {
    state = 1;
    {
      std::stop_callback callback(token, [] { ++state; });
      Arrive();
      Await(2);
    }
    ++state;
  });
  Await(1);
  source.request_stop();
  Arrive();
  worker.join();
  if (state != 3) abort();
}
