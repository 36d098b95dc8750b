// A local variable of a function that is inlined into its caller, in a block of that.
// PLACE: stack main
// VARIABLE(inner): inner[1]
#include <thread>

#include "invisible.h"

NOINLINE void Put(int* place) {
  // CHAIN(inner): Put < Inlined < main
  // CHAIN(inner): Put < lambda
  place[1] = 1;  // RACE(inner)
}

ALWAYS_INLINE void Inlined(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    int inner[4] = {i};  // LOCAL(inner): Inlined
    std::thread thread([&inner] {
      Put(inner);
      Arrive();
    });
    Await(i + 1);
    Put(inner);
    thread.join();
    USE(inner[1]);
  }
}

int main() {
  int outer[4] = {};
  Put(outer);
  Inlined(2);
  USE(outer[1]);
}
