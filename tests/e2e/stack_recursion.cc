// A function that calls itself: the variable of one of its calls, after deeper ones have been there before and left their traces.
// PLACE: stack main
// VARIABLE(level): levels[2]
#include <pthread.h>

#include "invisible.h"

NOINLINE void Put(int* levels) {
  // CHAIN(level): Put < Descend < Descend < Descend < main
  // CHAIN(level): Put < Writer
  levels[2] = 1;  // RACE(level)
}

void* Writer(void* levels) {
  Put(static_cast<int*>(levels));
  Arrive();
  return nullptr;
}

NOINLINE int Descend(int depth, bool shares) {
  int levels[24];  // LOCAL(level): Descend
  levels[depth] = depth;
  if (depth == 2 && shares) {
    pthread_t thread;
    pthread_create(&thread, nullptr, Writer, levels);
    Await(1);
    Put(levels);
    pthread_join(thread, nullptr);
  }
  const int below = depth == (shares ? 2 : 9) ? 0 : Descend(depth + 1, shares);
  return below + levels[depth];
}

int main() {
  USE(Descend(0, false));
  USE(Descend(0, true));
}
