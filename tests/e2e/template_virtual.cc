// Templates, virtual functions and a namespace in the chain.
#include <pthread.h>

#include "invisible.h"

namespace shapes {

struct Shape {
  virtual ~Shape() = default;
  virtual void Grow(int by) = 0;
};

template <typename Number>
struct Square : Shape {
  NOINLINE void Grow(int by) override {
    side += by;  // RACE(side) CHAIN(side): Grow < Apply < Worker
  }
  Number side = 1;
};

template <typename Kind, int kTimes>
NOINLINE void Apply(Kind& shape) {
  for (int i = 0; i < kTimes; ++i) shape.Grow(i);
}

}  // namespace shapes

void* Worker(void* argument) {
  shapes::Apply<shapes::Shape, 3>(*static_cast<shapes::Shape*>(argument));
  Arrive();
  return nullptr;
}

int main() {
  static shapes::Square<long> square;
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, static_cast<shapes::Shape*>(&square));
  Await(1);
  USE(square.side);  // RACE(side) CHAIN(side): main
  pthread_join(thread, nullptr);
}
