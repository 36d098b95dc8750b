// request_stop happens before stop_requested returns true ([stoptoken.general]); a jthread joins in its destructor.
// NORACE
// STD: c++20
#include <stop_token>
#include <thread>

#include "invisible.h"

int before_stop;
int in_thread;

int main() {
  {
    std::jthread worker([](std::stop_token token) {
      while (!token.stop_requested()) usleep(100);
      ++before_stop;
      in_thread = 1;
    });
    before_stop = 1;
    worker.request_stop();
  }
  ++in_thread;
}
