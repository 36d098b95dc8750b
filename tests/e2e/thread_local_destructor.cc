// The destructor of a thread_local object runs in its thread, before join returns.
// NORACE
#include <thread>

#include "invisible.h"

int destroyed;

struct Local {
  ~Local() { ++destroyed; }
  int value = 0;
};
thread_local Local local;

int main() {
  for (int i = 0; i < 3; ++i) {
    std::thread([] { local.value = 1; }).join();
    ++destroyed;
  }
}
