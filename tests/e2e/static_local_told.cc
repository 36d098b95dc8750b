// A program that wants to know is told when it may have to wait for another thread to initialize a static variable.
// NORACE
#include <stdlib.h>

int begun, ended;

namespace __tsan {
void OnPotentiallyBlockingRegionBegin() { ++begun; }
void OnPotentiallyBlockingRegionEnd() { ++ended; }
}  // namespace __tsan

int Value() {
  if (begun != 1 || ended != 1) abort();
  return begun;
}

int main() {
  static const int value = Value();
  if (value != 1 || begun != 1 || ended != 1) abort();
}
