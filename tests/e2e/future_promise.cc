// set_value happens before get returns ([futures.state]/9).
// NORACE
#include <future>
#include <thread>

#include "invisible.h"

int side_effect;

int main() {
  std::promise<int> promise;
  std::future<int> future = promise.get_future();
  std::thread worker([&promise] {
    side_effect = 1;
    promise.set_value(2);
  });
  if (future.get() != 2) abort();
  ++side_effect;
  worker.join();
}
