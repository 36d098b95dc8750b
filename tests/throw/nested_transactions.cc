// Transactions that are nested, cancelled, and tried again because others get in their way: what was undone is forgotten, what has committed orders.
#include <thread>

#include "check.h"

int counter;       // in transactions only
int* published;    // set by one, and what it points to is written before and read after
int cancelled;     // written in a transaction that is cancelled, and by somebody else without one
int in_inner;      // the same, in a nested one
int rounds_of[4];  // each by its thread

void Count(int thread) {
  for (int i = 0; i < 500; ++i) {
    __transaction_atomic {
      ++counter;
      __transaction_atomic { counter += 2; }
    }
    ++rounds_of[thread];
  }
}

int main() {
  std::thread counting[] = {std::thread(Count, 0), std::thread(Count, 1), std::thread(Count, 2), std::thread(Count, 3)};
  std::thread first([] {
    for (int i = 0; i < 3; ++i) {
      __transaction_atomic {
        cancelled = 1;
        __transaction_atomic {
          in_inner = 1;
          __transaction_cancel;
        }
        cancelled = 2;
        __transaction_cancel;
      }
    }
    Arrive();
    Await(2);
    int* const value = new int(5);
    __transaction_atomic { published = value; }
  });
  Await(1);
  cancelled = 3;  // the other one never happened
  in_inner = 3;
  Arrive();
  int* value = nullptr;
  while (value == nullptr) {
    __transaction_atomic { value = published; }
    std::this_thread::yield();
  }
  CHECK(*value == 5);
  delete value;
  first.join();
  for (std::thread& thread : counting) thread.join();
  CHECK(counter == 4 * 500 * 3 && cancelled == 3 && in_inner == 3);
  puts("all is well");
}
