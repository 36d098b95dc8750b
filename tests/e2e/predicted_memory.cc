// What is used before one thread's section and after that of another, in ways that are not a store to a variable: memory that is copied, filled and freed,
// an element of a container, and arrays of which both use one element.
// DETECTORS: hb hybrid
// BY(copied): hybrid
// BY(filled): hybrid
// BY(freed): hybrid
// BY(element): hybrid
// BY(far): hybrid
#include <string.h>

#include <mutex>
#include <thread>
#include <vector>

#include "invisible.h"

std::mutex mutex;
int unrelated;

NOINLINE void Touch() {
  const std::lock_guard<std::mutex> guard(mutex);
  ++unrelated;
}

template <typename First, typename Second>
void InTurn(int step, First first, Second second) {
  std::thread one([&] {
    first();
    Touch();
    Arrive();
  });
  std::thread other([&] {
    Await(step);
    Touch();
    second();
  });
  one.join();
  other.join();
}

char from[100], to[100], filled[100];
int* volatile block;
std::vector<int> elements(10);
int far[100'000];

int main() {
  size_t size = sizeof to;
  __asm__ volatile("" : "+r"(size));  // a call of libc, whatever the compiler knows
  InTurn(
      1,
      [&] {
        memcpy(to, from, size);  // RACE(copied) CHAIN(copied): lambda < lambda
      },
      [] {
        to[70] = 1;  // RACE(copied) CHAIN(copied): lambda < lambda
      });
  InTurn(
      2,
      [] {
        filled[50] = 1;  // RACE(filled) CHAIN(filled): lambda < lambda
      },
      [&] {
        memset(filled, 0, size);  // RACE(filled) CHAIN(filled): lambda < lambda
      });
  block = new int(1);
  InTurn(
      3,
      [] {
        USE(*block);  // RACE(freed) CHAIN(freed): lambda < lambda
      },
      [] {
        delete block;  // RACE(freed) CHAIN(freed): lambda < lambda
      });
  InTurn(
      4,
      [] {
        elements.at(3) = 1;  // RACE(element) CHAIN(element): lambda < lambda
      },
      [] {
        ++elements[3];  // RACE(element) CHAIN(element): lambda < lambda
      });
  InTurn(
      5,
      [] {
        for (int each = 0; each < 60'000; ++each) ++far[each];  // RACE(far) CHAIN(far): lambda < lambda
      },
      [] {
        for (int each = 99'999; each >= 59'999; --each) ++far[each];  // RACE(far) CHAIN(far): lambda < lambda
      });
}
