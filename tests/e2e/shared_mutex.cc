// std::shared_mutex: shared owners read, the exclusive one writes.
// NORACE
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "invisible.h"

std::shared_mutex mutex;
int value;

int main() {
  std::thread writer([] {
    for (int i = 0; i < 20; ++i) {
      std::unique_lock<std::shared_mutex> lock(mutex);
      ++value;
    }
  });
  for (int i = 0; i < 20; ++i) {
    std::shared_lock<std::shared_mutex> lock(mutex);
    USE(value);
  }
  writer.join();
}
