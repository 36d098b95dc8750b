// weak_ptr::lock either gives an owner or nothing; the object dies after its last use.
// NORACE
#include <memory>
#include <thread>

#include "invisible.h"

int main() {
  auto object = std::make_shared<int>(1);
  std::thread worker([weak = std::weak_ptr<int>(object)] {
    while (std::shared_ptr<int> owner = weak.lock()) USE(*owner);
  });
  usleep(1000);
  object.reset();
  worker.join();
}
