// Copies of a shared_ptr in several threads: the count is atomic, the last one deletes after all uses.
// NORACE
#include <memory>
#include <thread>

#include "invisible.h"

struct Object {
  int parts[2] = {};
};

int main() {
  auto object = std::make_shared<Object>();
  std::thread first([object] { object->parts[0] = 1; });
  std::thread second([copy = object] { copy->parts[1] = 1; });
  object.reset();
  first.join();
  second.join();
}
