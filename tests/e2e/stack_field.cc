// A member of an object on a stack: through members that are arrays and objects, and of the object that a member function is called on.
// PLACE: stack main
// VARIABLE(hits): pool.slots[5].hits
// VARIABLE(size): cache.size_
#include <thread>

#include "invisible.h"

struct Slot {
  int key;
  int hits;
};
struct Pool {
  long id;
  Slot slots[8];
};
class Cache {
 public:
  NOINLINE void Grow() { ++size_; }  // RACE(size) CHAIN(size): Grow < main CHAIN(size): Grow < Use < lambda

 private:
  char name_[20] = {};
  int size_ = 0;
};

NOINLINE void Hit(Pool& pool, int slot) {
  // CHAIN(hits): Hit < main
  // CHAIN(hits): Hit < Use < lambda
  pool.slots[slot].hits = slot;  // RACE(hits)
}

NOINLINE void Use(Pool& pool, Cache& cache) {
  Hit(pool, 5);
  cache.Grow();
}

int main() {
  Pool pool = {};  // LOCAL(hits): main
  Cache cache;     // LOCAL(size): main
  std::thread thread([&] {
    Use(pool, cache);
    Arrive();
  });
  Await(1);
  Hit(pool, 5);
  cache.Grow();
  thread.join();
}
